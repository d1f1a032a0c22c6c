import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { nodeCommand } from 'contract-service/fixtures/node'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { freePort } from 'contract-testing/port'
import { soon } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { copyProject, copyTools, listToys } from '../../fixtures/copy.js'
import { pageMax, prefix } from '../../fixtures/facts.js'
import { send } from '../../fixtures/service.js'

type Edits = Readonly<Record<string, (text: string) => string>>

// Edits all files at once, as a checkout does.
function edit(copy: string, edits: Edits): void {
  for (const [name, change] of Object.entries(edits)) {
    const file = path.join(copy, name)
    mkdirSync(path.dirname(file), { recursive: true })
    const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
    const after = change(before)
    if (after === before) throw new Error(`nothing to edit in ${name}`)
    writeFileSync(file, after)
  }
}

const replace = (from: string | RegExp, to: string) => (text: string) => text.replaceAll(from, to)

interface Development {
  readonly child: ChildProcess
  /** Resolves with the lines since the last call, up to the first that matches. */
  until(pattern: RegExp): Promise<string>
  /** The server's log so far. */
  readonly log: Record<string, unknown>[]
  readonly ended: Promise<unknown[]>
}

// The command of `npm run dev`.
const program = ['packages/service/contract-service.js', 'dev']

function startDev(t: Test, cwd: string, env: Record<string, string>, command = program): Development {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(...nodeCommand(command), {
    cwd,
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const log: Record<string, unknown>[] = []
  createInterface({ input: child.stdout }).on('line', (line) => log.push(JSON.parse(line)))
  return { child, log, ended, until: reader(child.stderr, ended) }
}

function reader(stream: NodeJS.ReadableStream, ended: Promise<unknown>): Development['until'] {
  const lines = createInterface({ input: stream })[Symbol.asyncIterator]()
  const end = ended.then(() => ({ done: true, value: '' }))
  let lost: Error | undefined // the reader has ended: a later line would belong to another edit
  return async (pattern) => {
    if (lost !== undefined) throw lost
    const seen: string[] = []
    for (;;) {
      const what = () => `line ${pattern} of dev after:\n${seen.join('\n')}`
      const { done, value } = await soon(Promise.race([lines.next(), end]), what).catch((error) => {
        lost = error
        throw error
      })
      seen.push(value)
      if (done) throw new Error(`dev exited without printing ${pattern}:\n${seen.join('\n')}`)
      if (pattern.test(value)) return seen.join('\n')
    }
  }
}

// Adds a required field to responses: to the schema, and to the examples, which must match it.
function withLength(text: string): string {
  const [before = '', after = ''] = text.split('    NewPet:\n')
  const required = before
    .replace('required: [id, name, categoryId]\n', 'required: [id, name, categoryId, lengthCm]\n')
    .replace(/( +)id:\n/, '$1lengthCm:\n$1  type: integer\n$1  format: int32\n$&')
    .replace(
      /^( +)(?:- )?id: \d+\n/gm,
      (line, indent) => `${line}${indent}${line.includes('-') ? '  ' : ''}lengthCm: 5\n`,
    )
  return `${required}    NewPet:\n${after}`
}

function withStoredLength(text: string): string {
  return text
    .replace('import { int8,', 'import { int4, int8,')
    .replace('status: optional(text()) }', "status: optional(text()), lengthCm: int4('length_cm') }")
}

const migration = 'src/migrations/9999-pet-length.sql'

// A second contract, in a folder that usually has none, and a part of it in a file with an unusual name.
const withAdmin: Edits = {
  'docs/parts/limit': () => '{ type: integer, maximum: 10 }\n',
  'docs/admin.yaml': () => `openapi: 3.1.0
info: { title: Administration, version: 1.0.0 }
servers: [{ url: /admin }]
paths:
  /toys:
    get:
      operationId: listAdminToys
      parameters: [{ name: limit, in: query, schema: { $ref: parts/limit } }]
      responses:
        '200': { description: Toys., content: { application/json: { schema: { type: object } } } }
        default: { description: An error., content: { application/json: { schema: { type: object } } } }
`,
  'src/main.ts': (text) =>
    text.replace('import { start }', 'import { readServiceContract, start }').replace(
      'errorBody })',
      `errorBody, beside })

async function beside() {
  const contract = await readServiceContract('docs/admin.yaml')
  const handlers = { listAdminToys: async () => ({ status: 200, body: {} }) }
  return [{ contract, handlers, schemes: {} }]
}`,
    ),
}

// Returns the processes that still run from the copy, and the database if it is still locked.
async function leftovers(copy: string, dataDir: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'args='])
  const processes = stdout.split('\n').filter((args) => args.includes(copy))
  const database = existsSync(path.join(dataDir, 'postgresql/data/postmaster.pid')) ? ['the database'] : []
  return [...processes, ...database]
}

t.test('a good edit is served, and a bad edit leaves the last good server running', async (t) => {
  const copy = copyProject(t)
  copyTools(copy, 'dev', 'generate', 'generate/lint-process')
  const dataDir = dataDirectory(t)
  const port = await freePort()
  edit(copy, {
    'src/handlers/getPet.ts': replace('status: 200', 'status: 202'),
    'tsconfig.json': replace('"scripts", ', ''), // the suite checks their types already
  })
  const dev = startDev(t, copy, { PORT: String(port), DATA_DIR: dataDir })
  const isUp = /^dev: the new server is running/
  let key: string | undefined
  const call = (path: string, method = 'GET', body?: unknown) =>
    send(`http://127.0.0.1:${port}${path}`, method, { authorization: `Bearer ${key}` }, body)

  await t.test('if the first check fails, the server starts after the edit that fixes it', async (t) => {
    const output = await dev.until(/^dev: 1 error to fix; no server is running$/)
    t.match(output, /^ {2}src\/handlers\/getPet\.ts:\d+:\d+ error TS2322: /m)
    edit(copy, { 'src/handlers/getPet.ts': replace('status: 202', 'status: 200') })
    // The welcome and the message come in either order.
    const welcome = (await dev.until(/curl|^dev: the new/)) + (await dev.until(/curl|^dev: the new/))
    key = /ask_\w+/.exec(welcome)?.[0]
    t.match(await call(`${prefix}/pets?limit=${pageMax}`), { status: 200 })
  })

  await t.test('a changed limit is served', async (t) => {
    edit(copy, {
      'openapi.yaml': (text) => text.replace(/(?<=- name: limit\n[\s\S]*?maximum: )\d+/, String(pageMax - 1)),
    })
    const output = await dev.until(isUp)
    t.match(
      output,
      `dev: openapi.yaml changed\n  breaking  GET /pets  query.limit: maximum ${pageMax} -> ${pageMax - 1}\n`,
    )
    t.match(await call(`${prefix}/pets?limit=${pageMax}`), { status: 400 })
  })

  await t.test('invalid YAML is reported with its line', async (t) => {
    edit(copy, { 'openapi.yaml': replace('      operationId: listPets\n', '$&   - [\n') })
    const output = await dev.until(/^dev: .*the last good server keeps running$/)
    t.match(output, /^ {2}openapi\.yaml:\d+:\d+: /m)
    t.match(await call(`${prefix}/pets?limit=${pageMax - 1}`), { status: 200 })
  })

  await t.test('a new operation is served by a stub', async (t) => {
    edit(copy, { 'openapi.yaml': (text) => text.replace('   - [\n', '').replace('components:\n', listToys) })
    const output = await dev.until(isUp)
    t.match(output, '  minor     GET /toys  operation added\n')
    t.match(output, /^ {2}src\/handlers\/listToys\.ts added: a stub/m)
    t.match(await call(`${prefix}/toys`), { status: 501, body: { code: 'not_implemented' } })
    t.match(await call(`${prefix}/pets`, 'POST', { name: 'Rex', categoryId: 1 }), { status: 201 })
  })

  await t.test('a required response field that the code does not return is a type error', async (t) => {
    edit(copy, { 'openapi.yaml': withLength })
    const output = await dev.until(/^dev: \d+ errors? to fix; the last good server keeps running$/)
    t.match(output, /^ {2}minor {5}GET \/pets {2}200 body\[\]\.lengthCm: added/m)
    t.match(output, /^ {2}src\/handlers\/pets\/pets\.ts:\d+:\d+ error TS/m)
    t.match(await call(`${prefix}/pets/1`), { status: 200, body: { name: 'Rex' } })
  })

  await t.test('a failing migration stops the new server', async (t) => {
    edit(copy, {
      // With the migration first: with the code alone, a server would start and query a missing column.
      [migration]: () => 'alter tabel pets add column length_cm integer not null default 5;\n',
      'src/handlers/pets/pets.ts': withStoredLength,
    })
    const output = await dev.until(
      /^dev: the new server failed to start .*; the last good server keeps running$/,
    )
    t.match(output, /startup failed: [\s\S]*syntax error at or near "tabel"/)
    t.match(await call(`${prefix}/pets/1`), { status: 200, body: { name: 'Rex' } })
    t.match(
      await call('/readyz'),
      { status: 200 },
      'it does not require the migration added after it started',
    )
  })

  await t.test('the fixed migration is applied, and a second contract is served', async (t) => {
    edit(copy, { [migration]: replace('tabel', 'table'), ...withAdmin })
    await dev.until(isUp)
    t.match(await call(`${prefix}/pets/1`), { status: 200, body: { name: 'Rex', lengthCm: 5 } })
  })

  await t.test('a type error in a test is reported', async (t) => {
    edit(copy, { 'test/new.ts': () => "export const count: number = 'one'\n" })
    // The check after the previous edit may find it first.
    t.match(
      await dev.until(/^ {2}test/),
      /dev: 1 error to fix in tests and scripts\n {2}test\/new\.ts:1:14 error TS2322: /,
    )
  })

  await t.test('an edit of a second contract, and of a file that it refers to, is served', async (t) => {
    const readAdmin = async (limit: number) => (await call(`/admin/toys?limit=${limit}`)).status
    t.equal(await readAdmin(10), 200)
    edit(copy, { 'docs/parts/limit': replace('10', '9') })
    t.match(await dev.until(isUp), /^dev: docs\/parts\/limit changed$/m)
    t.strictSame([await readAdmin(10), await readAdmin(9)], [400, 200])
    edit(copy, { 'docs/admin.yaml': replace('url: /admin', 'url: /operators') })
    t.match(await dev.until(isUp), /^dev: docs\/admin\.yaml changed$/m)
    t.match(await call('/operators/toys?limit=9'), { status: 200 })
  })

  await t.test('a crashed server is restarted', async () => {
    const { pid } = dev.log.findLast(({ msg }) => String(msg).startsWith('Server listening')) ?? {}
    process.kill(Number(pid), 'SIGKILL')
    await dev.until(/^dev: the server exited \(SIGKILL\); restarting it now$/)
    await dev.until(isUp)
    t.match(await call(`${prefix}/pets/1`), { status: 200 })
  })

  await t.test('Ctrl-C stops the server and its database', async (t) => {
    dev.child.kill('SIGINT')
    dev.child.kill('SIGINT') // npm forwards the signal that the terminal has already sent
    t.strictSame(await dev.ended, [0, null])
    t.match(dev.log.at(-1), { msg: 'stopped' })
    t.strictSame(await leftovers(copy, dataDir), [])
  })
})

t.test('wrong usage and invalid configuration are rejected at startup', async (t) => {
  const cases: [string, string[], Record<string, string>, number, RegExp][] = [
    ['an argument', ['now'], {}, 2, /Examples:[\s\S]*now/],
    ['a wrong value', [], { PORT: 'x' }, 1, /PORT must be/],
  ]
  for (const [title, args, env, code, message] of cases) {
    const { child, ended } = startDev(t, projectRoot, env, [...program, ...args])
    let output = ''
    child.stderr?.on('data', (chunk) => {
      output += chunk
    })
    t.strictSame(await ended, [code, null], title)
    t.match(output, message, title)
  }
})
