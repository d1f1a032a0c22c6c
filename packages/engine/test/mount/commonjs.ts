// A server that is bundled in CommonJS, where `import.meta` is empty.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { compileContract } from 'contract-engine/compile'
import { temporaryDirectory } from 'contract-testing/directory'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import { send } from '../../src/lib/send.js'
import { packageRoot } from '../fixtures/root.js'

const contract = `openapi: 3.1.0
info: { title: Toys, version: 1.0.0 }
paths:
  /toys/{toyId}:
    get:
      operationId: getToy
      parameters: [{ name: toyId, in: path, required: true, schema: { type: integer, format: int64 } }]
      responses:
        '200': { description: It., content: { text/csv: { schema: { $ref: '#/components/schemas/Toys' } } } }
        default: { description: An error., content: { application/json: {} } }
components:
  schemas:
    Toys:
      type: array
      items: { type: object, required: [id], properties: { id: { type: integer, format: int64 } } }
`
const program = `
import { readFileSync } from 'node:fs'
import { contractFiles, documentation, errorHandler, loadContract } from 'contract-engine'
import { mount, notFoundHandler } from 'contract-engine'
import Fastify from 'fastify'

async function main([plan, file, page]) {
  const contract = await loadContract(readFileSync(plan), file)
  const app = Fastify()
  app.setErrorHandler(errorHandler(contract))
  app.setNotFoundHandler(notFoundHandler(app, contract))
  contractFiles(app, contract)
  if (page !== undefined) documentation(app, contract)
  const getToy = async ({ params }) => ({ status: 200, body: [{ id: params.toyId }] })
  await mount(app, { contract, handlers: { getToy } })
  console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
}
main(process.argv.slice(2)).catch(({ name, message }) => {
  console.error(name + ': ' + message)
  process.exitCode = 1
})
`

const loading = `
import { generateTypes } from 'contract-engine/generate'
console.log(typeof generateTypes)
`

const alias = { '@seriousme/openapi-schema-validator': 'contract-engine/valid-specification' }

const folder = temporaryDirectory(t, { 'openapi.yaml': contract })
const [plan, file, bundle] = ['contract.plan', 'openapi.yaml', 'server.cjs'].map((name) =>
  path.join(folder, name),
)
const args = [bundle, plan, file] as [string, string, string]
t.before(async () => {
  writeFileSync(args[1], await compileContract(args[2]))
  // The bundle loads some packages from there: papaparse, for CSV.
  const installed = path.dirname(path.dirname(createRequire(import.meta.url).resolve('fastify/package.json')))
  symlinkSync(installed, path.join(folder, 'node_modules'))
  await build({
    ...{ stdin: { contents: program, resolveDir: packageRoot }, outfile: args[0], format: 'cjs' },
    ...{ bundle: true, platform: 'node', logLevel: 'silent', alias },
  })
})

t.test('it starts, responds, and serves its contract', async (t) => {
  const origin = await start(t)
  const id = 9_007_199_254_740_993n
  const toy = await send(`${origin}/toys/${id}`)
  t.match(toy, { status: 200, text: `id\r\n${id}` })
  const invalid = { status: 400, body: { code: 'invalid_request', message: 'path.toyId must be an integer' } }
  t.match(await send(`${origin}/toys/seven`), invalid)
  t.match(await send(`${origin}/openapi.json`), { status: 200, body: { info: { title: 'Toys' } } })
  t.match(await send(`${origin}/docs`), { status: 404, body: { code: 'route_not_found' } })
})

t.test('it refuses to serve /docs, and says why', async (t) => {
  const refused = await promisify(execFile)(process.execPath, [...args, 'page']).catch((error) => error)
  const message =
    'OperatorError: /docs is not served by a bundle in CommonJS: bundle the server to ES modules\n'
  t.match(refused, { code: 1, stderr: message })
})

t.test('without what glue needs in a bundle it says so', async (t) => {
  const outfile = path.join(folder, 'unaliased.cjs')
  await build({
    ...{ stdin: { contents: program, resolveDir: packageRoot }, outfile, format: 'cjs' },
    ...{ bundle: true, platform: 'node', logLevel: 'silent' },
  })
  const refused = await promisify(execFile)(process.execPath, [outfile, plan ?? '', file ?? '']).catch(
    (error) => error,
  )
  const message =
    /^OperatorError: glue cannot read the schema of OpenAPI: .* contract-engine\/valid-specification\n$/m
  t.match(refused, { code: 1, stderr: message })
})

t.test('what generates types loads, too', async (t) => {
  const tools = path.join(folder, 'tools.cjs')
  await build({
    ...{ stdin: { contents: loading, resolveDir: packageRoot }, outfile: tools, format: 'cjs' },
    ...{ bundle: true, platform: 'node', logLevel: 'silent', external: ['typescript', 'openapi-typescript'] },
  })
  const { stdout } = await promisify(execFile)(process.execPath, [tools])
  t.equal(stdout, 'function\n')
})

/** Starts the bundle, and returns its origin. The end of the test stops it. */
async function start(t: Test): Promise<string> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  const lines = createInterface({ input: child.stdout })
  const [origin] = await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`it exits ${code}`))),
  ])
  return origin
}
