import { EventEmitter, once } from 'node:events'
import net from 'node:net'
import { until, untilReady } from 'contract-testing/until'
import t from 'tap'
import { handlers } from '../../generated/handlers.js'
import { prefix } from '../fixtures/facts.js'
import { send, sendRaw, startService } from '../fixtures/service.js'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const span = '00f067aa0ba902b7'
const traces: [traceparent: string, traceId: string | undefined][] = [
  [`00-${trace}-${span}-01`, trace],
  [`cc-${trace}-${span}-01-what-a-later-version-says`, trace],
  [`ff-${trace}-${span}-01`, undefined],
  [`00-${'0'.repeat(32)}-${span}-01`, undefined],
  [`00-${trace}-${'0'.repeat(16)}-01`, undefined],
  [`00-${trace.toUpperCase()}-${span}-01`, undefined],
  [`00-${trace}-${span}`, undefined],
  ['"}', undefined],
]

t.test('each log line of a request has its trace id', async (t) => {
  const { base, auth, log } = await startService(t, {
    handlers: {
      ...handlers,
      listPets: async () => {
        throw new Error('broken')
      },
    },
  })
  for (const [traceparent, traceId] of traces) {
    log.length = 0
    await send(`${base}/pets`, 'GET', { ...auth, traceparent })
    t.strictSame(
      log.map((line) => line.traceId),
      log.map(() => traceId),
      traceparent,
    )
    t.strictSame(
      log.map(({ msg }) => msg),
      ['request failed', 'request'],
    )
  }
})

t.test('probes are logged at debug, unless they fail', async (t) => {
  const { origin, sql, log } = await startService(t)
  const lines = () =>
    log.filter(({ msg }) => msg === 'request').map(({ level, route, status }) => [level, route, status])
  await untilReady(origin)
  log.length = 0
  for (const path of ['/healthz', '/readyz', '/openapi.json']) await send(origin + path)
  t.strictSame(lines(), [
    [20, '/healthz', 200],
    [20, '/readyz', 200],
    [30, '/openapi.json', 200],
  ])
  log.length = 0
  await sql`alter table api_keys rename to away`
  await send(`${origin}/readyz`)
  t.strictSame(lines(), [[30, '/readyz', 503]])
})

t.test('client addresses are logged only if configured', async (t) => {
  const forwarded = { 'x-forwarded-for': '203.0.113.9' }
  const linesWith = async (env: Record<string, string>) => {
    const held = new EventEmitter()
    const service = await startService(t, {
      env: { TRUST_PROXY: 'loopback', CONNECTIONS_PER_ADDRESS_MAX: '3', ...env },
      handlers: {
        ...handlers,
        getPet: async () => {
          held.emit('one')
          await once(held, 'over')
          throw new Error('nobody waits for it')
        },
      },
    })
    await send(`${service.base}/pets`, 'GET', { ...service.auth, ...forwarded })
    await sendRaw(service.origin, 'nonsense\r\n\r\n')
    const { port } = new URL(service.origin)
    const lines = [`Host: x`, `Authorization: ${service.auth.authorization}`, 'X-Forwarded-For: 203.0.113.9']
    const begun = once(held, 'one')
    const socket = net.connect(Number(port), '127.0.0.1')
    socket.write(`GET ${prefix}/pets/1 HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    await begun
    socket.resetAndDestroy()
    await until(() => service.log.some(({ msg }) => msg === 'request aborted'))
    held.emit('over')
    const others = Array.from({ length: 4 }, () =>
      net.connect(Number(port), '127.0.0.1').on('error', () => {}),
    )
    await until(() => service.log.some(({ msg }) => String(msg).startsWith('connections refused')))
    for (const other of others) other.destroy()
    return service.log.filter(({ msg }) => !String(msg).startsWith('Server listening'))
  }
  const lines = await linesWith({ LOG_ADDRESS: 'true' })
  const addressesOf = (...messages: RegExp[]) =>
    messages.map((message) =>
      lines.filter(({ msg }) => message.test(String(msg))).map(({ address }) => address),
    )
  t.strictSame(addressesOf(/^request$/, /^request refused$/, /^request aborted$/, /^connections refused/), [
    ['203.0.113.9'],
    ['127.0.0.1'],
    ['203.0.113.9'],
    ['127.0.0.1'],
  ])
  t.notMatch(JSON.stringify(await linesWith({})), /203\.0\.113\.9|127\.0\.0\.1/)
})
