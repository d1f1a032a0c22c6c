// Which responses Fastify's serializer writes: the same at the start as in the build, which has seen others
// before.

import Fastify from 'fastify'
import t from 'tap'
import { compileContract } from '../../../src/compile/index.js'
import { loadContract, mount, notImplemented } from '../../../src/index.js'
import { createResponseSchemas } from '../../../src/serve/response/response-schemas.js'
import { contractOf } from '../../../src/testing/engine.js'

const own = { type: 'object', additionalProperties: false, required: [] }
const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` })

// S0 refers to S1, and so on to S69. Two refer to each other, and one to them.
const schemas = Object.fromEntries([
  ...Array.from({ length: 70 }, (_, i) => [
    `S${i}`,
    { ...own, properties: i < 69 ? { next: refTo(`S${i + 1}`) } : { end: { type: 'string' } } },
  ]),
  ['Hen', { ...own, properties: { egg: refTo('Egg') } }],
  ['Egg', { ...own, properties: { hen: refTo('Hen') } }],
  ['Farm', { ...own, properties: { hen: refTo('Hen'), last: refTo('S69') } }],
])

const verdicts = {
  S0: false,
  S19: false,
  S20: true,
  S40: true,
  S69: true,
  Hen: false,
  Egg: false,
  Farm: false,
}
const names = Object.keys(verdicts)
const paths = Object.fromEntries(
  names.map((name) => {
    const content = { 'application/json': { schema: refTo(name) } }
    return [`/${name}`, { get: { operationId: name, responses: { 200: { description: 'One.', content } } } }]
  }),
)
const document = { paths, components: { schemas } }

for (const [title, order] of [
  ['from the deepest', names],
  ['from the flattest', names.toReversed()],
] as const)
  t.test(`whether a response is written does not depend on others before it, ${title}`, async (t) => {
    const { operations, specification } = await contractOf(document)
    const schemasOf = createResponseSchemas(specification)
    const found = order.map((name) => {
      const operation = operations.get(name)
      return [name, operation !== undefined && schemasOf(operation) !== undefined]
    })
    t.strictSame(Object.fromEntries(found), verdicts)
  })

t.test('a server starts from its plan where an operation with deeper schemas is a stub', async (t) => {
  const readText = async () =>
    JSON.stringify({ openapi: '3.1.0', info: { title: 'Depths', version: '1.0.0' }, ...document })
  const contract = await loadContract(await compileContract('openapi.yaml', { readText }), 'openapi.yaml', {
    readText,
  })
  const stubs = names.map((name) => [name, notImplemented(name)])
  const S40 = async () => ({ status: 200, body: { next: {} } })
  const app = Fastify()
  t.teardown(() => app.close())
  await mount(app, { contract, handlers: { ...Object.fromEntries(stubs), S40 } })
  const { statusCode, body } = await app.inject('/S40')
  t.strictSame([statusCode, body], [200, '{"next":{}}'])
})
