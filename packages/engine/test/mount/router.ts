// A contract in applications whose Fastify has other options.

import { connect } from 'node:http2'
import { buffer } from 'node:stream/consumers'
import { type Contract, clientErrorHandler, errorHandler, mount, notFoundHandler } from 'contract-engine'
import { contractWith, done } from 'contract-testing/engine'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'

const id = { type: 'integer', format: 'int64' }
const json = (schema: object) => ({ 'application/json': { schema } })
const toy = { type: 'object', additionalProperties: false, properties: { id, name: { type: 'string' } } }
const location = { Location: { schema: { type: 'string' } } }
const responses = { ...done, 200: { description: 'It.', headers: location, content: json(toy) } }
const name = { name: 'name', in: 'path', required: true, schema: { type: 'string' } }
const part = { name: 'part', in: 'path', required: true, schema: { type: 'string' } }

function toysContract(): Promise<Contract> {
  return contractWith({
    getToy: { method: 'get', path: '/toys/{name}', parameters: [name], responses },
    getPart: { method: 'get', path: '/parts/{name}.{part}', parameters: [name, part], responses },
    addToy: { path: '/toys', requestBody: { required: true, content: json(toy) }, responses },
    wait: { method: 'get', path: '/wait', responses },
  })
}

const handlers = {
  getToy: async ({ params }: { params: { name: string } }) => {
    return { status: 200, headers: { Location: './x' }, body: { id: 9007199254740993n, name: params.name } }
  },
  getPart: async ({ params }: { params: { part: string } }) => ({ status: 200, body: { name: params.part } }),
  addToy: async ({ body }: { body: object }) => ({ status: 200, body }),
  wait: () => new Promise(() => undefined),
}

// As the engine's page shows.
async function application(
  t: Test,
  options: object,
  prepare: (app: FastifyInstance) => unknown = () => undefined,
): Promise<FastifyInstance> {
  const contract = await toysContract()
  const handler = {
    frameworkErrors: errorHandler(contract),
    clientErrorHandler: clientErrorHandler(contract),
  }
  const app: FastifyInstance = Fastify({ ...handler, ...options })
  t.teardown(() => app.close())
  app.setErrorHandler(errorHandler(contract))
  app.setNotFoundHandler(notFoundHandler(app, contract))
  await prepare(app)
  await mount(app, { contract, handlers })
  return app
}

for (const [title, options] of [
  ['by default', {}],
  ['with a lower limit', { routerOptions: { maxParamLength: 10 } }],
  ['with a compiled router', { routerOptions: { compile: true } }],
] as const)
  t.test(`a path parameter is as long as the contract's URLs: ${title}`, async (t) => {
    const app = await application(t, options)
    for (const length of [100, 101, 16_000]) {
      const text = 'A'.repeat(length)
      t.match(await app.inject(`/toys/${text}`), { statusCode: 200, payload: `"name":"${text}"` })
      t.match(await app.inject(`/parts/a.${text}`), { statusCode: 200, payload: text }, 'beside text')
    }
    const message = 'The path and query are longer than 16384 bytes.'
    t.match((await app.inject(`/toys/${'A'.repeat(16_384)}`)).json(), { code: 'uri_too_long', message })
  })

t.test('where the router is out of reach, its limit has to be that of the URLs', async (t) => {
  const behind = (app: FastifyInstance): FastifyInstance =>
    Object.create(app, { hasRoute: { value: () => false } }) // of another copy of find-my-way
  const contract = await toysContract()
  const short = behind(Fastify())
  await t.rejects(mount(short, { contract, handlers }), {
    name: 'ContractError',
    message: /^Fastify's maxParamLength .* routerOptions: \{ maxParamLength: 16384 \}$/,
  })
  const long = behind(Fastify({ routerOptions: { maxParamLength: 16_384 } }))
  await t.resolves(mount(long, { contract, handlers }))
})

t.test('a route of the application keeps a higher limit', async (t) => {
  const app = await application(t, { routerOptions: { maxParamLength: 20_000 } })
  app.get('/own/:name', async () => 'own')
  t.match(await app.inject(`/own/${'A'.repeat(20_000)}`), { statusCode: 200 })
  t.match((await app.inject(`/own/${'A'.repeat(20_001)}`)).json(), {
    ...{ code: 'uri_too_long', message: 'A parameter of the path is too long.', status: 414 },
  })
})

const refused: [options: object, message: string][] = [
  [{ caseSensitive: false }, "Fastify's caseSensitive is false: "],
  [{ ignoreTrailingSlash: true }, "Fastify's ignoreTrailingSlash is true: "],
  [{ ignoreDuplicateSlashes: true }, "Fastify's ignoreDuplicateSlashes is true: "],
  [{ useSemicolonDelimiter: true }, "Fastify's useSemicolonDelimiter is true: "],
  [{ querystringParser: () => ({ a: '1' }) }, "Fastify's querystringParser is another one: "],
  [
    { querystringParser: (text: string) => ({ a: { b: text } }) },
    "Fastify's querystringParser is another one: ",
  ],
]

for (const [routerOptions, message] of refused)
  t.test(`an application is refused with ${Object.keys(routerOptions)}`, async (t) => {
    const error = await application(t, { routerOptions }).catch((error) => error)
    t.match(error, { name: 'ContractError', message: new RegExp(`^${message}.* Leave it out\\.$`) })
  })

t.test('an option beside those of the router is refused, too', async (t) => {
  const { emitWarning } = process
  t.teardown(() => Object.assign(process, { emitWarning }))
  process.emitWarning = () => undefined // Fastify warns of the option's place
  const options = { ignoreTrailingSlash: true, routerOptions: { maxParamLength: 500 } }
  await t.rejects(application(t, options), { message: "Fastify's ignoreTrailingSlash is true: " })
})

t.test('all options that are unfit are told at once', async (t) => {
  const routerOptions = { caseSensitive: false, ignoreTrailingSlash: true }
  const error = await application(t, { routerOptions }).catch((error) => error)
  t.equal(error.message.split('\n').length, 2)
})

const withoutEffect: [title: string, options: object, prepare?: (app: FastifyInstance) => unknown][] = [
  ['none', {}],
  ['bodyLimit', { bodyLimit: 10 }],
  ['exposeHeadRoutes', { exposeHeadRoutes: false }],
  ['ajv', { ajv: { customOptions: { coerceTypes: true, removeAdditional: true, useDefaults: false } } }],
  ['serializerOpts', { serializerOpts: { rounding: 'ceil' } }],
  ['schemaErrorFormatter', { schemaErrorFormatter: () => new Error('mine') }],
  ['onProtoPoisoning', { onProtoPoisoning: 'remove', onConstructorPoisoning: 'remove' }],
  ['requestTimeout', { requestTimeout: 60_000, connectionTimeout: 60_000, handlerTimeout: 60_000 }],
  ['trustProxy', { trustProxy: true, genReqId: () => 'id', requestIdHeader: 'x-request-id' }],
  ['allowErrorHandlerOverride', { allowErrorHandlerOverride: false }],
  ['a validator compiler', {}, (app) => app.setValidatorCompiler(() => () => false)],
  ['a serializer compiler', {}, (app) => app.setSerializerCompiler(() => () => 'mine')],
  ['a reply serializer', {}, (app) => app.setReplySerializer(() => 'mine')],
  ['parsers', {}, (app) => app.removeAllContentTypeParsers()],
]

for (const [title, options, prepare] of withoutEffect)
  t.test(`the contract holds whatever Fastify is given: ${title}`, async (t) => {
    const app = await application(t, options, prepare)
    const post = (payload: string) => {
      const headers = { 'content-type': 'application/json' }
      return app.inject({ method: 'POST', url: '/toys', headers, payload })
    }
    t.equal((await app.inject('/toys/Ball;x=1')).payload, '{"id":9007199254740993,"name":"Ball;x=1"}')
    t.match(await app.inject({ method: 'HEAD', url: '/toys/Ball' }), { statusCode: 200, payload: '' })
    t.match(await app.inject('/toys/Ball?a=1'), { statusCode: 400, payload: 'query.a' })
    t.equal((await post('{"id":9007199254740993}')).payload, '{"id":9007199254740993}')
    t.match(await post(`{"name":"${'A'.repeat(60_000)}"}`), { statusCode: 200 })
    t.match(await post('{"id":"3","more":1}'), { statusCode: 400, payload: /body\.more .*body\.id / })
    t.match(await post('{"__proto__":{}}'), { statusCode: 400, payload: '__proto__' })
  })

t.test('a handler that takes longer than handlerTimeout is 503', async (t) => {
  const app = await application(t, { handlerTimeout: 1 })
  t.match((await app.inject('/wait')).json(), {
    ...{ code: 'handler_timeout', message: 'Service Unavailable', status: 503 },
  })
})

t.test('links of HTTP/2 are absolute, too', async (t) => {
  const app = await application(t, { http2: true })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const client = connect(origin)
  t.teardown(() => client.close())
  const stream = client.request({ ':path': '/toys/Ball' })
  const [headers] = await new Promise<[Record<string, unknown>]>((resolve) => {
    stream.once('response', (...given) => resolve([given[0]]))
  })
  await buffer(stream)
  t.equal(headers.location, `${origin}/toys/x`)
})
