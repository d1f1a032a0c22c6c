// The modules that a process loads when it serves a contract by its plan.

import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { serialize } from 'node:v8'
import type { compileContract } from 'contract-engine/compile'
import { temporaryDirectory } from 'contract-testing/directory'
import { anyError, contractWith } from 'contract-testing/engine'
import t from 'tap'
import { packageRoot } from '../../fixtures/root.js'

interface Compiling {
  readonly compileContract: typeof compileContract
}

const run = promisify(execFile)
const program = path.join(packageRoot, 'test/fixtures/serve-printed.mjs')

const schema = {
  type: 'object',
  required: ['id'],
  additionalProperties: false,
  properties: { id: { type: 'integer', format: 'int64' }, name: { type: 'string', minLength: 2 } },
}
const responses = {
  200: { description: 'One.', content: { 'application/json': { schema } } },
  default: anyError,
}
const operations = {
  add: { requestBody: { required: true, content: { 'application/json': { schema } } }, responses },
  find: {
    method: 'get',
    parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer', maximum: 9, default: 3 } }],
    responses,
  },
}

t.test('no compiler of schemas is loaded by a process that serves a plan', async (t) => {
  const { text } = await contractWith(operations)
  const requests = [
    { method: 'POST', url: '/add', payload: { id: 1, name: 'ab' } },
    { method: 'POST', url: '/add', payload: { id: '1', name: 'a', other: true } },
    { method: 'GET', url: '/find?limit=10' },
    { method: 'GET', url: '/find' },
  ]
  const sample = { id: 9007199254740993n, name: 'ab' }
  const directory = temporaryDirectory(t)
  const [file, planFile, requestFile] = ['openapi.yaml', 'contract.plan', 'requests'].map((name) =>
    path.join(directory, name),
  ) as [string, string, string]
  await writeFile(file, text)
  await writeFile(requestFile, serialize({ requests, sample }))
  const engine = path.join(packageRoot, 'dist/src')
  // The built engine, because the process accepts only its plan.
  const built = (await import(pathToFileURL(path.join(engine, 'compile/index.js')).href)) as Compiling
  await writeFile(planFile, await built.compileContract(file))
  const { stdout } = await run(process.execPath, [program, engine, file, planFile, requestFile])
  const found = JSON.parse(stdout) as { readonly responses: string[]; readonly loaded: string[] }
  t.strictSame(found.responses.slice(0, 1), ['{"id":9007199254740993,"name":"ab"}'])
  t.match(
    found.responses[1],
    /body.other is not a known field; body.id must be an integer; body.name must have at least 2/,
  )
  t.match(found.responses[2], /query.limit must be at most 9/)
  t.equal(found.responses[3], found.responses[0])
  const modules = found.loaded.map((each) => each.split('/node_modules/').at(-1) ?? '')
  t.ok(modules.includes('ajv/dist/runtime/ucs2length.js'), 'the list has modules')
  const compilers =
    /^(ajv\/dist\/(2020|ajv|core|compile|standalone|vocabularies)|ajv-formats\/dist\/(?!formats\.js)|@fastify\/ajv-compiler|@fastify\/fast-json-stringify-compiler|fast-json-stringify\/(index|lib\/(?!serializer|v8))|yaml\/)/
  t.strictSame(
    modules.filter((each) => compilers.test(each)),
    [],
  )
})
