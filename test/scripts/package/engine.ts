// The engine as its users get it: the tarball, installed by npm in an empty folder, where the examples of its
// pages run; and what its manifest declares.

import { execFile, spawn } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { send } from 'contract-engine/lib/send'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { isNightly } from 'contract-testing/nightly'
import { listen } from 'contract-testing/port'
import { sendRaw } from 'contract-testing/send-raw'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { problemsOf } from '../../../scripts/package/compile.js'
import { importedPackages } from '../../fixtures/imported-packages.js'
import { type Fence, fencesOf } from '../../fixtures/pages.js'
import { pack, startRegistry } from '../../fixtures/registry.js'
import { printedBy } from '../../fixtures/type-compilers.js'

const run = promisify(execFile)

const built = path.join(projectRoot, 'packages/engine')

const readme = readFileSync(path.join(built, 'README.md'), 'utf8')
const webhooks = readFileSync(path.join(built, 'webhooks.md'), 'utf8')
// By day the compiler of TypeScript 7 in the place of the one that the pages install, which takes ten times
// as long.
const native = path.join(projectRoot, 'node_modules/@typescript/native/lib/tsc.js')
const asTried = (text: string) => (isNightly ? text : text.replace('npx tsc', `node '${native}'`))
// The pages show the first example whole, and parts of these.
const examples = path.join(projectRoot, 'test/fixtures/engine-examples.md')
const blocks = [readme, webhooks, readFileSync(examples, 'utf8')].flatMap(blocksOf)
const commands = blocks.flatMap(({ text, language }) => (language === 'sh' ? [asTried(text)] : []))
const [install = '', generate = '', start = '', generateShop = '', startShop = '', ...others] = commands
const [startClub = '', startBoth = '', startFeed = ''] = others

const folder = temporaryDirectory(t, { 'package.json': '{ "type": "module" }' })
const env: Record<string, string> = {
  PATH: `${path.join(folder, 'node_modules/.bin')}:${process.env.PATH}`,
  HOME: folder,
  NO_COLOR: '1',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
}

t.before(async () => {
  const tarball = await pack(t, built)
  cpSync(tarball, path.join(folder, path.basename(tarball)))
  for (const { file, text } of blocks) if (file !== undefined) writeFileSync(path.join(folder, file), text)
  env.npm_config_registry = await startRegistry(t)
  await run('bash', ['-ec', install], { cwd: folder, env })
})

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command in the folder, and waits for its exit. */
function shell(command: string): Promise<Outcome> {
  return run('bash', ['-ec', command], { cwd: folder, env }).then(
    (output) => ({ code: 0, ...output }),
    (error) => error,
  )
}

t.test('the example of the page, as printed', async (t) => {
  const written = 'generated/types.ts written\ngenerated/operations.ts written\n'
  t.match(await shell(generate), { code: 0, stdout: written, stderr: '' })
  const { origin, log } = await startServer(t, start)
  const error = (status: number, code: string, message: string) => {
    return { status, body: { code, message, status } }
  }

  t.test('responds as the page says', async (t) => {
    t.match(await send(`${origin}/toys/7`), { status: 200, text: '{"id":7,"name":"Ball"}' })
    const invalid = error(400, 'invalid_request', 'path.toyId must be an integer')
    t.match(await send(`${origin}/toys/seven`), invalid)
    t.match(await send(`${origin}/toys/9`), error(404, 'toy_not_found', 'There is no such toy.'))
    t.match(await send(`${origin}/nowhere`), error(404, 'route_not_found', 'There is nothing at this path.'))
    const wrong = await send(`${origin}/toys/7`, 'DELETE')
    t.match(wrong, error(405, 'method_not_allowed', 'DELETE is not allowed here.'))
    t.equal(wrong.headers.get('allow'), 'GET, HEAD')
    const malformed = await sendRaw(origin, 'GET /%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    t.match(malformed, /^HTTP\/1\.1 400 .*"code":"malformed_request"/s)
    const noHttp = await sendRaw(origin, 'GET / HTTP/9.9\r\n\r\n')
    t.match(noHttp, /^HTTP\/1\.1 400 .*"code":"malformed_request"/s)
    const tooLong = await sendRaw(origin, `GET / HTTP/1.1\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`)
    t.match(tooLong, /^HTTP\/1\.1 431 .*"code":"headers_too_large"/s)
    t.match(await send(`${origin}/toys/8`), error(500, 'internal_error', 'Internal Server Error'))
    const failures = () => log.filter(({ level }) => Number(level) >= 50)
    await until(() => failures().length > 0)
    t.match(failures(), [
      { msg: 'request failed', err: { message: /^getToy 200: body at "\/name" must NOT have fewer/ } },
    ])
  })

  t.test('serves the contract, and its page', async (t) => {
    t.match(await send(`${origin}/openapi.json`), { status: 200, body: { info: { title: 'Toys' } } })
    t.match((await send(`${origin}/docs`)).text, '<title>Toys</title>')
    for (const file of ['page.js', 'page.css', 'scalar.js'])
      t.equal((await send(`${origin}/docs/${file}`)).status, 200, file)
  })
})

t.test('its example of security', async (t) => {
  const { origin } = await startServer(t, startClub)
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })
  const games = (method: string, headers: Record<string, string>) => send(`${origin}/games`, method, headers)
  t.match(await games('GET', { 'x-key': 'sesame' }), { status: 200, text: 'Chess, for a guest' })
  t.match(await games('GET', basic('bob:another')), { status: 200, text: 'Chess, for bob' })
  t.match(await games('DELETE', basic('ann:a secret')), { status: 204 })
  const nobody = await games('GET', {})
  t.match(nobody, { status: 401, body: { code: 'missing_credentials' } })
  const member = 'Basic realm="Club", charset="UTF-8"'
  const challenges = `ApiKey realm="Club", in="header", name="X-Key", ${member}`
  t.equal(nobody.headers.get('www-authenticate'), challenges)
  t.match(await games('GET', basic('bob:guess')), { status: 401, body: { code: 'invalid_credentials' } })
  const scope = { code: 'insufficient_scope', message: 'This needs the scope games:end.' }
  t.match(await games('DELETE', basic('bob:another')), { status: 403, body: scope })
  t.match(await games('DELETE', { 'x-key': 'sesame' }), { status: 401 })
})

t.test('its example of two contracts', async (t) => {
  t.match(await shell(generate), { code: 0 }) // of the first, unless its own example has run
  const { origin } = await startServer(t, startBoth)
  const member = { authorization: `Basic ${Buffer.from('ann:a secret').toString('base64')}` }
  t.match(await send(`${origin}/toys/7`), { status: 200, text: '{"id":7,"name":"Ball"}' })
  t.match(await send(`${origin}/staff/toys/7`, 'GET', member), { status: 200, text: '3' })
  t.match(await send(`${origin}/staff/toys/7`), { status: 401, body: { title: 'Unauthorized' } })
  for (const [method, target, status] of [
    ['GET', '/nowhere', 404],
    ['DELETE', '/toys/7', 405],
    ['GET', '/%zz', 400],
  ] as const)
    for (const [prefix, form] of [
      ['', `"status":${status}}`],
      ['/staff', '"title":'],
    ] as const) {
      const line = `${method} ${prefix}${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
      const response = await sendRaw(origin, line)
      t.match(response, new RegExp(`^HTTP/1.1 ${status} `), line)
      t.ok(response.includes(form), response)
    }
  const tooLong = await sendRaw(origin, `GET /staff/ HTTP/1.1\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`)
  t.match(tooLong, /^HTTP\/1\.1 431 .*"title":/s)
  for (const [folder, title] of [
    ['', 'Toys'],
    ['/staff', 'Staff'],
  ] as const) {
    t.match(await send(`${origin}${folder}/openapi.json`), {
      body: { info: { title }, servers: [{ url: origin + (folder || '') }] },
    })
    t.match((await send(`${origin}${folder}/docs`)).text, `<title>${title}</title>`)
  }
})

t.test('its example of webhooks, as printed', async (t) => {
  const received: { url: unknown; headers: Record<string, unknown>; body: string }[] = []
  const origin = await listen(t, async (request, response) => {
    const body = (await request.toArray()).join('')
    received.push({ url: request.url, headers: request.headers, body })
    if (request.url === '/exported') response.writeHead(204).end()
    else response.setHeader('Content-Type', 'application/json').end('{"number":9007199254740993}')
  })
  const secrets = [1, 2].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`)
  t.match(await shell(generateShop), { code: 0, stderr: '' })
  const shop = { ...env, RECEIVER: origin, SECRETS: secrets.join(' ') }
  const { stdout } = await run('bash', ['-ec', startShop], { cwd: folder, env: shop })
  t.equal(stdout, 'booked as 9007199254740993n\n204\n')
  t.match(received, [
    {
      url: '/',
      body: '{"petId":9007199254740993,"price":12.5}',
      headers: { 'x-shop': '4', 'webhook-id': 'sale_81' },
    },
    { url: '/exported', body: '{"rows":2}', headers: { 'webhook-id': undefined } },
  ])
  t.equal(String(received[0]?.headers['webhook-signature']).split(' ').length, 2)
})

t.test('its example of a stream', async (t) => {
  const { origin, log } = await startServer(t, startFeed)
  let received = ''
  const socket = net.connect(Number(new URL(origin).port), '127.0.0.1')
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text
  })
  socket.write('GET /toys HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 0\r\n\r\n')
  await new Promise((resolve) => socket.on('close', resolve))
  const ball = 'event: made\nid: 1\ndata: {"id":9007199254740993,"name":"Ball"}\n\n'
  t.match(received, /^HTTP\/1\.1 200 OK\r\n.*content-type: text\/event-stream\r\n/is)
  t.ok(received.includes(`\r\n\r\n${ball.length.toString(16)}\r\n${ball}\r\n`), 'each is a chunk')
  t.match(received, /data: \{"id":1,"name":"Kite"\}\n\n\r\n.*data: \{"id":2,"name":"Kite"\}\n\n\r\n$/s)
  const failure = () => log.find(({ level }) => level === 50)
  await until(() => failure() !== undefined)
  t.match(failure(), {
    msg: 'response failed',
    err: { message: 'watchToys 200: body at "/3/data/name" must be string' },
  })
  const invalid = await send(`${origin}/toys`, 'GET', { 'last-event-id': 'x' })
  t.match(invalid, { status: 400, body: { code: 'invalid_request' } })
})

t.test('a part of a file has lines of those that are run', (t) => {
  const linesOf = ({ text }: Block) => text.split('\n').map((line) => line.trim())
  const lines = new Set(blocks.filter(({ file }) => file !== undefined).flatMap(linesOf))
  const parts = [readme, webhooks].flatMap(blocksOf).filter(({ language, file }) => {
    return /^(?:ts|yaml)$/.test(language) && file === undefined
  })
  t.equal(parts.length, 4)
  const others = parts.flatMap(linesOf).filter((line) => !lines.has(line))
  t.strictSame(others, [])
  t.end()
})

interface Block extends Fence {
  /** The name of a file, with which its text begins; a command has none, and neither has a part of a file. */
  readonly file: string | undefined
}

function blocksOf(page: string): Block[] {
  return fencesOf(page).map((fence) => {
    const [, name] = /^(?:#|\/\/) (\S+)\n/.exec(fence.text) ?? []
    return { ...fence, file: fence.language === 'sh' ? undefined : name }
  })
}

/** Runs a block of the page until it listens. The end of the test stops it. */
async function startServer(
  t: Test,
  start: string,
): Promise<{ origin: string; log: Record<string, unknown>[] }> {
  const child = spawn('bash', ['-ec', start], { cwd: folder, env: { ...env, PORT: '0' }, detached: true })
  t.teardown(() => process.kill(-Number(child.pid), 'SIGKILL'))
  const log: Record<string, unknown>[] = []
  let printed = ''
  const origin = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      printed += `${line}\n`
      if (!line.startsWith('{')) return // of the compiler
      log.push(JSON.parse(line))
      const [, url] = /listening at (http:\/\/127\S+)"/.exec(line) ?? []
      if (url !== undefined) resolve(url)
    })
    child.stderr.on('data', (text) => {
      printed += text
    })
    child.on('exit', () => reject(new Error(printed)))
  })
  return { origin, log }
}

const rounded = /'number' is not assignable to type 'bigint'/
const keyLine = /^( {2})key(: .*\n)/m

// In the files of the pages: of handlers, of a list of checks, of webhooks and callbacks.
const slips: readonly [file: string, slip: string, from: string | RegExp, to: string, problem: RegExp][] = [
  ['server.ts', 'a field of another type', "{ id: 7n, name: 'Ball' }", '{ id: 7, name: "Ball" }', rounded],
  ['server.ts', 'a missing field', 'body: toy', 'body: { id: toy.id }', /'name' is missing/],
  [
    'server.ts',
    'an undeclared status',
    'status: 200',
    'status: 201',
    /'201' is not assignable to type '200'/,
  ],
  ['server.ts', 'an undeclared parameter', 'params.toyId', 'params.toy', /'toy' does not exist/],
  ['server.ts', 'another operation', 'async getToy', 'async getToys', /'getToys' does not exist/],
  ['club.ts', 'a scheme without a check', keyLine, '', /'key' is missing/],
  ['club.ts', 'a check of no scheme', keyLine, '$&$1kye$2', /'kye' does not exist/],
  [
    'club.ts',
    'a check of another kind',
    'username, password }',
    'username, passwords }',
    /'passwords' does not exist/,
  ],
  [
    'both.ts',
    'the body of the other contract',
    'body: 3',
    "body: { id: 7n, name: 'Ball' }",
    /not assignable/,
  ],
  ['shop.ts', 'a rounded number', '9007199254740993n', '9007199254740993', rounded],
  ['shop.ts', 'no header', "headers: { 'X-Shop': 4 }, ", '', /'headers' is missing/],
  ['shop.ts', 'no signature', ", 'unsigned'", '', /Expected 2 arguments, but got 1/],
  ['shop.ts', 'no body', '{ body: { rows: 2 } }', '{}', /'body' is missing/],
  ['shop.ts', 'another name', 'webhooks.petSold', 'webhooks.petBought', /'petBought' does not exist/],
]

t.test('what breaks its contract does not compile', async (t) => {
  const read = (file: string) => readFileSync(path.join(folder, file), 'utf8')
  const printed = [...new Set(slips.map(([file]) => file))]
  const broken = slips.map(([file, , from, to]) => read(file).replace(from, to))
  const problems = compile([...printed.map(read), ...broken])
  for (const [i, file] of printed.entries()) t.strictSame(problems[i], [], `${file}, as printed`)
  for (const [i, [file, slip, , , problem]] of slips.entries())
    t.match(problems[printed.length + i]?.join('\n'), problem, `${file}: ${slip}`)
})

/** The problems of each text, compiled together: the types of Node and Fastify take seconds. */
function compile(texts: readonly string[]): string[][] {
  const files = texts.map((text, i) => {
    const file = path.join(folder, `text-${i}.ts`)
    writeFileSync(file, text)
    return file
  })
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    types: ['node'],
    typeRoots: [path.join(folder, 'node_modules/@types')],
  })
  const problems = problemsOf(program)
  return files.map((file) => problems.filter((problem) => problem.startsWith(`${file}:`)))
}

// A program without skipLibCheck has all errors of one with it; the pages compile the first example with the
// types of browsers, too.
const ofNode = ['--types', 'node']
const withNode: readonly [compiler: string, ...options: string[]][] = [
  ['5', '--lib', 'es2023', ...ofNode],
  ['7', '--lib', 'es2023', ...ofNode],
  ['7', '--lib', 'esnext,dom,dom.iterable', ...ofNode],
]
const strict = ['--strict', '--exactOptionalPropertyTypes', '--target', 'es2022', '--module', 'nodenext']
const doors = ['', '/compile', '/tools', '/generate', '/mock']
const importing = doors.map((door, i) => `export * as door${i} from 'contract-engine${door}'\n`).join('')

// What a project that writes declarations may export without a type of its own.
const exporting = `import { type Contract, createOutgoing, notImplemented } from 'contract-engine'
interface Webhooks { sold: { request: { body: bigint }; response: { status: 200 } } }
export const getToy = notImplemented('getToy')
export const createServices = async (contract: Contract) => ({
  ...createOutgoing<Webhooks, { buy: Webhooks }>(contract),
  async close() {},
})
export const sold = (contract: Contract) => createOutgoing<Webhooks>(contract).webhooks.sold
`

for (const [compiler, ...options] of isNightly ? withNode : withNode.slice(1, 2))
  t.test(`its doors and the pages' servers compile in TypeScript ${compiler}, ${options[1]}`, async (t) => {
    writeFileSync(path.join(folder, 'doors.ts'), importing)
    const servers = blocks.flatMap(({ file }) => (file?.endsWith('.ts') ? [file] : []))
    t.equal(await printedBy(compiler, folder, [...strict, ...options, 'doors.ts', ...servers]), '')
    writeFileSync(path.join(folder, 'exported.ts'), exporting)
    const declaring = ['--skipLibCheck', '--declaration', 'exported.ts']
    t.equal(await printedBy(compiler, folder, [...strict, ...options, ...declaring]), '', 'with declarations')
  })

t.test('without its optional packages, it says what to install', async (t) => {
  const started = `import('contract-engine').then(async ({ documentation }) => {
    const { readContract } = await import('contract-engine/compile')
    const contract = await readContract('openapi.yaml')
    documentation((await import('fastify')).default(), contract)
  }).catch(({ message }) => console.log(message))`
  rmSync(path.join(folder, 'node_modules/@scalar'), { recursive: true })
  const scalar = '/docs needs Scalar, which is not installed: npm install @scalar/fastify-api-reference\n'
  t.match(await run(process.execPath, ['-e', started], { cwd: folder, env }), { stdout: scalar, stderr: '' })
  t.match(await shell('npm prune --omit=dev --omit=optional'), { code: 0 }) // as the page says
  t.match(await shell(generate), {
    code: 1,
    stderr:
      /^Cannot find module 'typescript'\nRun: npm install --save-dev openapi-typescript@7 typescript@5 recheck@4\n$/,
  })
})

const handlers = `import type { Handlers } from 'contract-engine'
import type { Operations } from './generated/operations.js'
export const handlers: Handlers<Operations> = {
  async getToy({ params }) {
    return { status: 200, body: { id: params.toyId, name: 'Ball' } }
  },
}
export const rounded: Handlers<Operations> = {
  // @ts-expect-error: an int64 is a bigint
  getToy: async () => ({ status: 200, body: { id: 7, name: 'Ball' } }),
}
`
// The types of Node have gone with the others of development.
for (const compiler of isNightly ? ['5', '7'] : ['7'])
  t.test(`without types of Node, handlers compile with skipLibCheck in TypeScript ${compiler}`, async (t) => {
    t.notOk(existsSync(path.join(folder, 'node_modules/@types/node')))
    writeFileSync(path.join(folder, 'handlers.ts'), handlers)
    const options = [...strict, '--skipLibCheck', '--lib', 'es2023', 'handlers.ts']
    t.equal(await printedBy(compiler, folder, options), '')
  })

const manifest = JSON.parse(readFileSync(path.join(built, 'package.json'), 'utf8'))
const project = JSON.parse(readFileSync(path.join(projectRoot, 'package.json'), 'utf8'))

t.test('it declares what it imports, in the versions that the tests use, and nothing else', async (t) => {
  const declared = { ...manifest.dependencies, ...manifest.peerDependencies }
  t.strictSame(
    importedPackages(path.join(folder, 'node_modules/contract-engine')),
    Object.keys(declared).sort(),
  )
  const ofProject = { ...project.dependencies, ...project.devDependencies }
  const shared = Object.entries(declared).filter(([name]) => name in ofProject)
  t.match(ofProject, Object.fromEntries(shared))
  const { version, license, engines } = project
  t.match(manifest, { version, license, engines })
})

t.test('its pages link only to pages that are in the package', (t) => {
  const installed = path.join(folder, 'node_modules/contract-engine')
  const pages = readdirSync(installed).filter((name) => name.endsWith('.md'))
  const links = pages.flatMap((page) =>
    [...readFileSync(path.join(installed, page), 'utf8').matchAll(/\]\((?!\w+:|#)([^)#]*)[^)]*\)/g)].map(
      ([, target = '']) => target,
    ),
  )
  const own = readdirSync(built).filter((name) => name.endsWith('.md'))
  t.strictSame(
    links.filter((name) => !own.includes(name)),
    [],
  )
  t.strictSame(pages.sort(), own.sort())
  t.end()
})

t.test('the page names everything that a server can import', async (t) => {
  const program = ts.createProgram([path.join(built, 'dist/src/index.d.ts')], { noLib: true })
  const [door] = program.getSourceFiles().filter(({ fileName }) => fileName.endsWith('src/index.d.ts'))
  const checker = program.getTypeChecker()
  const symbol = door && checker.getSymbolAtLocation(door)
  const names = symbol ? checker.getExportsOfModule(symbol).map(({ name }) => name) : []
  const [, rows = ''] = /^\| `contract-engine` \| \|\n\|---\|---\|\n((?:\|.*\n)+)/m.exec(readme) ?? []
  const listed = rows.split('\n').map((row) => row.split('|')[1] ?? '')
  t.strictSame(names.sort(), [...listed.join().matchAll(/`(\w+)`/g)].map(([, name]) => name).sort())
})
