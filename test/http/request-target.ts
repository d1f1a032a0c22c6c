import t from 'tap'
import { prefix } from '../fixtures/facts.js'
import { contract, sendRaw, startService } from '../fixtures/service.js'

// Admission refuses every target that the router finds malformed, so no response has Fastify's own form.
t.test(
  'each target gets a response with a code of the contract, and the headers of any response',
  async (t) => {
    const service = await startService(t)
    const parts = ['a', '/', '?', '#', '%', '%25', '%2f', '%zz', '%c3', '%c3%a9']
    const starts = ['/', `${prefix}/pets/`, 'http://', 'http://x', 'http://x/', 'ftp://x/', '*', '']
    const targets = starts.flatMap((start) => parts.flatMap((one) => parts.map((two) => start + one + two)))
    const refusals = new Map<string, number>()
    const ask = async (target: string) => {
      const request = `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
      const received = await sendRaw(service.origin, request)
      const [, status, code] = /^HTTP\/1.1 (\d+) [\s\S]*\r\n\r\n(?:\{"code":"(\w+)")?/.exec(received) ?? []
      const known =
        code === undefined ? Number(status) < 400 : contract.errorStatuses.get(code) === Number(status)
      if (!known || !/^x-request-id: /im.test(received)) t.fail(`${target}: ${received}`)
      refusals.set(String(code), (refusals.get(String(code)) ?? 0) + 1)
    }
    while (targets.length > 0) await Promise.all(targets.splice(0, 50).map(ask))
    for (const code of ['malformed_request', 'missing_api_key', 'route_not_found'])
      t.ok(refusals.get(code), `${code}: ${refusals.get(code)}`)
  },
)
