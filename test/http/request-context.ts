// The context that a handler gets beside its request, tested through requests.

import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { handlers } from '../../generated/handlers.js'
import type { Context, Handlers, Response } from '../../src/handlers/handler.js'
import type { Services } from '../../src/services.js'
import { prefix } from '../fixtures/facts.js'
import { type Service, startService } from '../fixtures/service.js'

const none: Response<'listPets'> = { status: 200, body: [] }

// Starts a service that lists animals by `list`.
function startListing(
  t: Test,
  list: (context: Context) => Promise<unknown>,
  env: Record<string, string> = {},
) {
  const listPets: Handlers['listPets'] = async (_, context) => {
    await list(context)
    return none
  }
  return startService(t, { handlers: { ...handlers, listPets }, env })
}

t.test('a line of a handler has the id and the trace of its request, and no credential', async (t) => {
  const service = await startListing(t, async ({ log, client }) => {
    log.info({ plan: client?.plan }, 'listing')
  })
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const response = await service.call('GET', '/pets', { headers: { traceparent } })
  const line = service.log.find(({ msg }) => msg === 'listing')
  const requestId = response.headers.get('x-request-id')
  t.match(line, { level: 30, requestId, traceId: '4bf92f3577b34da6a3ce929d0e0e4736', plan: String })
  t.notMatch(JSON.stringify(service.log), service.key)
})

// Starts a server that never responds, as another API that takes its time.
async function slowServer(t: Test): Promise<string> {
  const server = createServer(() => {})
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('a request that times out aborts the signal: what its handler waits for ends', async (t) => {
  const url = await slowServer(t)
  const outcomes: unknown[] = []
  const service = await startListing(
    t,
    ({ signal }) => fetch(url, { signal }).catch((error) => outcomes.push(error.name, signal.aborted)),
    { HANDLER_TIMEOUT_MS: '3000' }, // a real time, because fetch waits for a real server
  )
  t.match(await service.call('GET', '/pets'), { status: 503, body: { code: 'unavailable' } })
  await until(() => outcomes.length > 0)
  t.strictSame(outcomes, ['AbortError', true])
  t.strictSame(errorsOf(service), ['no response within 3000 ms'], 'the late error of the handler is none')
})

t.test('so does a client that disconnects, which is no error', async (t) => {
  const url = await slowServer(t)
  const signals: AbortSignal[] = []
  const service = await startListing(t, ({ signal }) => {
    signals.push(signal)
    return fetch(url, { signal })
  })
  const { port, hostname } = new URL(service.origin)
  const socket = net.connect(Number(port), hostname)
  socket.write(
    `GET ${prefix}/pets HTTP/1.1\r\nHost: x\r\nAuthorization: ${service.auth.authorization}\r\n\r\n`,
  )
  await until(() => signals.length === 1)
  t.equal(signals[0]?.aborted, false)
  socket.resetAndDestroy()
  await until(() => signals[0]?.aborted === true)
  await service.call('GET', '/nothing')
  t.strictSame(errorsOf(service), [])
})

t.test('the signal is not aborted while the handler runs, and is once the response is sent', async (t) => {
  const seen: boolean[] = []
  const signals: AbortSignal[] = []
  const service = await startListing(t, async (context) => {
    signals.push(context.signal, context.signal)
    await new Promise(setImmediate)
    seen.push(context.signal.aborted)
  })
  await service.call('GET', '/pets')
  t.strictSame(seen, [false])
  t.equal(signals[0], signals[1])
  await until(() => signals[0]?.aborted === true)
})

t.test('a signal that is first read after the end of the request is aborted', async (t) => {
  const contexts: Context[] = []
  const service = await startListing(t, async (context) => contexts.push(context))
  await service.call('GET', '/pets')
  await until(() => service.log.some(({ msg }) => msg === 'request'))
  t.equal(contexts[0]?.signal.aborted, true)
})

t.test('the services of a team reach its handlers, and are closed after the last response', async (t) => {
  const events: string[] = []
  const bell = new EventEmitter()
  const bells = {
    ring: () => void events.push('rung'),
    close: async () => void events.push('closed'),
  }
  const services = bells as unknown as Services // the project's own services may be others by now
  const listPets: Handlers['listPets'] = async (_, { services }) => {
    bell.emit('begun')
    await once(bell, 'go')
    const { ring } = services as unknown as typeof bells
    ring()
    return none
  }
  const service = await startService(t, { handlers: { ...handlers, listPets }, services })
  const response = service.call('GET', '/pets')
  await once(bell, 'begun')
  const closed = service.app.close()
  await new Promise(setImmediate)
  bell.emit('go')
  t.match(await response, { status: 200 })
  await closed
  t.strictSame(events, ['rung', 'closed'])
})

function errorsOf({ log }: Service): unknown[] {
  return log.flatMap(({ level, err }) => (level === 50 ? [(err as { message: string }).message] : []))
}
