import t from 'tap'
import { handlers } from '../../generated/handlers.js'
import { send, startService } from '../fixtures/service.js'

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

t.test('each line of a request has the id of its trace', async (t) => {
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

t.test('of probes the log tells at debug, unless they fail', async (t) => {
  const { origin, sql, log } = await startService(t)
  const lines = () =>
    log.filter(({ msg }) => msg === 'request').map(({ level, route, status }) => [level, route, status])
  for (const path of ['/healthz', '/readyz', '/openapi.json']) await send(origin + path)
  t.strictSame(lines(), [
    [20, '/healthz', 200],
    [20, '/readyz', 200],
    [30, '/openapi.json', 200],
  ])
  log.length = 0
  await sql`delete from schema_migrations`
  await send(`${origin}/readyz`)
  t.strictSame(lines(), [[30, '/readyz', 503]])
})
