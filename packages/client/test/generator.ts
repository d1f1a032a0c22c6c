// `contract-client generate` makes a client of any contract, without a service.

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { listen } from 'contract-testing/port'
import t, { type Test } from 'tap'

const packageFile = (name: string) => fileURLToPath(import.meta.resolve(name))
const command = path.join(path.dirname(packageFile('contract-client/package.json')), 'contract-client.js')
const compiler = path.join(path.dirname(packageFile('@typescript/native/package.json')), 'lib/tsc.js')
const packages = path.dirname(path.dirname(packageFile('typescript/package.json')))

const books = `openapi: 3.1.0
info: { title: Books, version: 1.0.0 }
servers: [{ url: /v1 }]
paths:
  /books/{id}:
    get:
      operationId: getBook
      parameters: [{ name: id, in: path, required: true, schema: { type: integer, format: int64 } }]
      responses:
        '200': { description: It., content: { application/json: { schema: { $ref: '#/components/schemas/Book' } } } }
        '404': { description: None., content: { application/json: { schema: { $ref: '#/components/schemas/Error' } } } }
components:
  schemas:
    Book: { type: object, required: [id], properties: { id: { type: integer, format: int64 } } }
    Error: { type: object, required: [code, message, status], properties: { code: { type: string }, message: { type: string }, status: { type: integer } } }
`

const session = `import { createClient, isErrorOf } from './api/index.js'

const { getBook } = createClient({ baseUrl: String(process.argv[2]) })
const { data } = await getBook({ path: { id: 9007199254740993n } })
const id: bigint = data.id
console.log(String(id))
const error: unknown = await getBook({ path: { id: 1n } }).catch((reason) => reason)
if (isErrorOf(error, 'getBook')) console.log(error.status, error.body.code)
`

// Returns a folder with the contract and a session, and a function that runs the command there.
function library(t: Test) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'contract-client-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries({
    'books.yaml': books,
    'wrong.yaml': books.replace('format: int64 } }]', 'format: int64 }, in: path }]'),
    'session.ts': session,
    'package.json': '{ "type": "module" }',
  }))
    writeFileSync(path.join(folder, name), text)
  symlinkSync(packages, path.join(folder, 'node_modules'))
  const env = { PATH: process.env.PATH ?? '' } // without tap's loaders
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, args, { cwd: folder, env }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error) => error,
    )
  return { folder, run, command: (...args: string[]) => run(command, ...args) }
}

t.test('a client is generated, compiles, and calls exactly', async (t) => {
  const { folder, run, command } = library(t)
  const args = ['generate', 'books.yaml', '--output', 'api', '--agent', 'book-shop/2.0']
  const files = ['types', 'errors', 'client', 'index'].map((name) => `api/${name}.ts`)
  const missing = files.map((file) => `${file} is missing\n`).join('')
  t.match(await command(...args, '--check'), { code: 1, stdout: missing })
  t.match(await command(...args), {
    code: 0,
    stdout: files.map((file) => `${file} written\n`).join(''),
    stderr: '',
  })
  t.match(await command(...args, '--check'), { code: 0, stdout: '' })
  t.match(await command('generate', 'books.yaml', '--output', 'api', '--check'), {
    code: 1,
    stdout: 'api/client.ts is stale\n',
  })
  const strict = ['--strict', '--noEmit', '--target', 'es2023', '--module', 'nodenext', '--types', 'node']
  t.match(await run(compiler, ...strict, 'session.ts'), { code: 0, stdout: '' })
  const agents: unknown[] = []
  const origin = await listen(t, ({ url, headers }, response) => {
    agents.push(headers['user-agent'])
    const isKnown = url === '/v1/books/9007199254740993'
    response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' })
    response.end(isKnown ? '{"id":9007199254740993}' : '{"code":"no_book","message":"None.","status":404}')
  })
  const called = await run('--import', 'tsx', path.join(folder, 'session.ts'), `${origin}/v1`)
  t.match(called, { code: 0, stdout: '9007199254740993\n404 no_book\n' })
  t.match(agents, [/^book-shop\/2\.0/, /^book-shop\/2\.0/])
})

t.test('what cannot be generated is refused, and writes nothing', async (t) => {
  const { command } = library(t)
  for (const [args, code, message] of [
    [['generate', 'missing.yaml'], 1, /missing\.yaml/],
    [['generate', 'wrong.yaml'], 1, /^wrong\.yaml:8:\d+: Map keys must be unique/],
    [['generate', 'books.yaml', '--agent', 'a b'], 2, /--agent must be a product/],
    [['generate'], 2, /^Usage: /],
    [['print', 'books.yaml'], 2, /^Usage: /],
    [['generate', 'books.yaml', '--out', 'x'], 2, /Unknown option '--out'/],
  ] as const)
    t.match(await command(...args), { code, stdout: '', stderr: message }, args.join(' '))
  t.match(await command('generate', 'books.yaml', '--check'), { code: 1 }, 'there is no file yet')
})
