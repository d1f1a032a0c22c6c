// Tests every operation of the contract, including operations added later.

import type { Operation } from 'contract-engine'
import { isStub } from 'contract-engine/tools'
import t from 'tap'
import { handlers } from '../generated/handlers.js'
import { type Answer, contract, type Service, send, startService } from './fixtures/service.js'

// Returns the operation's path with a value for each parameter.
function pathOf({ path }: Operation, value = '1'): string {
  return path.replace(/\{\w+\}/g, encodeURIComponent(value))
}

function bodyOf({ body }: Operation): string | undefined {
  return body && '{}'
}

// The length that tools for language models allow for a tool's description.
const descriptionMax = 1024

for (const { id, definition, parameters, responses, isIdempotent } of contract.operations.values())
  t.test(`the description of ${id} says what it returns and how to go on`, async (t) => {
    const description = String(definition.description)
    t.ok(description.length <= descriptionMax, `${description.length} characters`)
    t.match(description, /\breturns /i)
    const has = (name: string) => parameters.some((each) => each.name === name)
    const isNamed: [name: string, isNeeded: boolean][] = [
      ['after', has('after')],
      ['limit', has('limit')],
      ['Idempotency-Key', isIdempotent],
      ['Retry-After', responses.has('429')],
    ]
    for (const [name, isNeeded] of isNamed) if (isNeeded) t.match(description, `\`${name}\``)
    // A 400 explains itself by its message. Other statuses need no words if a caller can do nothing about
    // them.
    for (const status of ['404', '409', '422', '429'].filter((each) => responses.has(each)))
      t.match(description, status)
  })

t.test('every operation', async (t) => {
  const service: Service = await startService(t)
  const { base, auth } = service

  for (const operation of contract.operations.values()) {
    const { id, method, name } = operation
    const ask = (target: string, headers: Record<string, string> = auth, body = bodyOf(operation)) =>
      send(base + target, method, headers, body)
    // A stub responds 501 to every authenticated request.
    const expected = (...statuses: number[]) =>
      isStub(handlers[name as keyof typeof handlers]) ? [501] : statuses
    const refuse = (answer: Answer, statuses: number[], title: string) => {
      const declared = operation.responses.get(String(answer.status)) ?? operation.responses.get('default')
      const missing = declared?.headers.filter(({ name, required }) => required && !answer.headers.has(name))
      const shape = {
        code: contract.errorStatuses.has(answer.body?.code),
        message: String,
        status: answer.status,
      }
      t.ok(statuses.includes(answer.status), `${id}: ${title} is rejected with ${answer.status}`)
      t.match(
        { ...answer.body, code: shape.code },
        { ...shape, code: true },
        'with the error body and a documented code',
      )
      t.strictSame(missing, [], 'with every header that the contract requires')
    }

    if (operation.security.length > 0) {
      t.test(`${id} rejects requests without a valid key`, async (t) => {
        for (const headers of [{}, { authorization: 'Basic eDp5' }, { authorization: 'Bearer nonsense' }]) {
          const answer = await ask(`${pathOf(operation, 'x')}?x=1`, headers)
          t.equal(answer.status, 401)
          refuse(answer, [401], JSON.stringify(headers))
          t.match(answer.headers.get('www-authenticate'), /^Bearer realm="/)
        }
      })
    }

    t.test(`${id} rejects hostile input in its path, query and body`, async () => {
      const refuseQuery = async (query: URLSearchParams) =>
        refuse(
          await ask(`${pathOf(operation)}?${query}`),
          expected(400),
          `query ${String(query).slice(0, 40)}`,
        )
      const refuseBody = async (body: string, status: number, title: string, type = 'application/json') =>
        refuse(await ask(pathOf(operation), { ...auth, 'content-type': type }, body), expected(status), title)
      const hostile = [
        '',
        ' ',
        'null',
        '-1',
        '1e3',
        '0x10',
        '9223372036854775808',
        "' or 1=1 --",
        '%00',
        '../..',
        'é',
        'a'.repeat(300),
      ]
      for (const value of hostile) {
        if (operation.path.includes('{') && value !== '') {
          const answer = await ask(pathOf(operation, value))
          refuse(answer, expected(400, 404, 413), `path ${value.slice(0, 20)}`)
        }
        for (const parameter of operation.parameters.filter((each) => each.in === 'query')) {
          const query = new URLSearchParams([
            [parameter.name, value],
            [parameter.name, value],
          ])
          await refuseQuery(query)
        }
        await refuseQuery(new URLSearchParams([[`no-such-${value}`, value]]))
      }
      if (operation.body === undefined) return
      const bodies = [
        '',
        '{',
        '[]',
        'null',
        '1',
        '"x"',
        '{"__proto__":1}',
        '{"constructor":1}',
        '[[[[',
        '{"a":1,"a":2}',
        '['.repeat(Math.min(20_000, contract.limits.body)),
      ]
      for (const body of bodies) {
        await refuseBody(body, 400, `body ${body.slice(0, 20)}`)
      }
      for (const type of [
        'text/plain',
        'application/xml',
        'application/jsonx',
        'multipart/form-data; boundary=x',
        'x',
      ]) {
        await refuseBody('{}', 415, type, type)
      }
      const large = ' '.repeat(contract.limits.body + 1)
      await refuseBody(large, 413, 'a body too large')
    })

    t.test(`${id} rejects other methods, and lists its own in Allow`, async (t) => {
      const answer = await send(`${base}${pathOf(operation)}`, 'OPTIONS', auth)
      refuse(answer, [405], 'OPTIONS')
      t.ok(
        answer.headers.get('allow')?.split(', ').includes(method),
        answer.headers.get('allow') ?? 'no Allow',
      )
    })

    if (operation.deprecation) {
      t.test(`${id} has deprecation headers on every response`, async (t) => {
        for (const headers of [auth, {}]) {
          for (const value of ['1', 'x']) {
            const answer = await ask(pathOf(operation, value), headers)
            t.equal(
              answer.headers.get('deprecation'),
              `@${Number(operation.deprecation?.deprecatedAt) / 1000}`,
            )
            t.equal(answer.headers.get('sunset'), operation.deprecation?.sunset?.toUTCString() ?? null)
            if (operation.deprecation?.successor === undefined) continue
            t.match(answer.headers.get('link'), /rel="successor-version"/)
          }
        }
      })
    }
  }

  t.equal(service.log.filter(({ level }) => Number(level) >= 50).length, 0, 'and the service logged no error')
})

t.test('an import of the contract sends no idempotency key twice', async (t) => {
  const { components } = contract.document as { components: { parameters: Record<string, object> } }
  const { schema, ...parameter } = components.parameters.IdempotencyKey as { schema: object }
  const prefilled = Object.keys({ ...parameter, ...schema }).filter((name) =>
    /example|default|pattern$/.test(name),
  )
  t.strictSame(prefilled, [])
  const { base, auth } = await startService(t)
  const headers = { ...auth, 'Idempotency-Key': '<string>' }
  t.match(await send(`${base}/pets`, 'POST', headers, '{}'), {
    status: 400,
    body: { message: /^header.idempotency-key must be 1 to 255 visible ASCII characters except < and >, or/ },
  })
})
