import path from 'node:path'
import { temporaryDirectory } from 'contract-testing/directory'
import { runWithout } from 'contract-testing/without-package'
import t from 'tap'
import { runCommand } from '../../src/mock/command.js'

const folder = temporaryDirectory(t, {
  'openapi.yaml': `openapi: 3.1.0
info: { title: Toys, version: 1.0.0 }
x-own: 1
servers: [{ url: /v1 }]
paths:
  /toys: { get: { operationId: listToys, responses: { '200': { description: Them., content: { application/json: { example: [7] } } } } } }
  /time: { get: { operationId: time, responses: { '200': { description: It., content: { text/plain: {} } } } } }
`,
  'broken.yaml': 'openapi: 3.1.0\npaths: {\n',
  'handlers.mjs': `export async function time() { return { status: 200, body: 'noon' } }\n`,
})
const file = path.join(folder, 'openapi.yaml')

interface Run {
  readonly code: Promise<number>
  readonly texts: { stdout: string; stderr: string }
  /** Resolves when it listens. */
  readonly origin: Promise<string>
  stop(): void
}

function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Run {
  const texts = { stdout: '', stderr: '' }
  const controller = new AbortController()
  let listening: (origin: string) => void
  const origin = new Promise<string>((resolve) => {
    listening = resolve
  })
  const stdout = {
    write(text: string) {
      texts.stdout += text
      listening(/http:[^\s]*?:\d+/.exec(text)?.[0] ?? '')
    },
  }
  const stderr = {
    write(text: string) {
      texts.stderr += text
    },
  }
  const code = runCommand(args, { stdout, stderr, env }, controller.signal)
  return { code, texts, origin, stop: () => controller.abort() }
}

t.test('it serves a contract until it is stopped, with the handlers of a module', async (t) => {
  const running = run([
    file,
    '--port',
    '0',
    '--extension',
    'x-own',
    '--handlers',
    path.join(folder, 'handlers.mjs'),
  ])
  const origin = await running.origin
  t.strictSame(await (await fetch(`${origin}/v1/toys`)).json(), [7])
  t.equal(await (await fetch(`${origin}/v1/time`)).text(), 'noon')
  t.match(await (await fetch(`${origin}/openapi.json`)).json(), { servers: [{ url: `${origin}/v1` }] })
  running.stop()
  t.equal(await running.code, 0)
  t.match(running.texts, { stdout: `Toys at ${origin}/v1: 2 operations; ${origin}/docs\n`, stderr: '' })
})

const places: readonly (readonly [title: string, args: readonly string[], env: NodeJS.ProcessEnv])[] = [
  ['the environment', [], { PORT: ' 0 ', HOST: '127.0.0.2' }],
  [
    'options before the environment',
    ['--port', '0', '--host', '127.0.0.2'],
    { PORT: 'x', HOST: 'nowhere.invalid' },
  ],
  ['an empty variable as none', ['--host', '127.0.0.2'], { PORT: '0', HOST: ' ' }],
]

for (const [title, args, env] of places) {
  t.test(`it listens where it is told, by ${title}`, async (t) => {
    const running = run([file, '--extension', 'x-own', ...args], env)
    const origin = await running.origin
    t.match(origin, /^http:\/\/127\.0\.0\.2:\d+$/)
    t.not(origin, 'http://127.0.0.2:4010')
    running.stop()
    t.equal(await running.code, 0)
  })
}

const refusals: readonly (readonly [
  title: string,
  args: readonly string[],
  code: number,
  text: RegExp,
  env?: NodeJS.ProcessEnv,
])[] = [
  ['no contract', [], 2, /^Usage/],
  ['two', [file, file], 2, /^Usage/],
  ['an unknown option', [file, '--speed', '1'], 2, /--speed/],
  ['a port that is none', [file, '--port', 'x'], 2, /--port must be from 0 to 65535/],
  ['a port that is too high', [file, '--port', '65536'], 2, /--port must be/],
  ['a PORT that is none', [file], 1, /^PORT must be an integer from 0 to 65535, got "x"\n$/, { PORT: 'x' }],
  ['a PORT that is too high', [file], 1, /^PORT must be .*, got "65536"\n$/, { PORT: '65536' }],
  ['an empty host', [file, '--host', ''], 2, /--host must be an address of this machine/],
  [
    'a HOST that is none',
    [file, '--extension', 'x-own', '--port', '0'],
    1,
    /^[^\n]*nowhere\.invalid: the host must be an address of this machine[^\n]*\n$/,
    { HOST: 'nowhere.invalid' },
  ],
  ['a contract that is none', [path.join(folder, 'broken.yaml')], 1, /broken\.yaml/],
  [
    'handlers that are not there',
    [file, '--extension', 'x-own', '--handlers', path.join(folder, 'none.mjs')],
    1,
    /none\.mjs/,
  ],
  ['production', [file], 1, /never in production \(NODE_ENV=production\)/, { NODE_ENV: 'production' }],
]

for (const [title, args, code, text, env] of refusals) {
  t.test(`it refuses ${title}`, async (t) => {
    const { code: ended, texts, stop } = run(args, env)
    stop() // so that it ends even if it serves
    t.equal(await ended, code)
    t.match(texts.stderr, text)
    t.equal(texts.stdout, '')
  })
}

t.test('without Fastify it says what to install', async (t) => {
  const program = `
    import { runCommand } from './node_modules/contract-engine/dist/src/mock/command.js'
    const streams = { stdout: process.stdout, stderr: process.stdout, env: {} }
    console.log(await runCommand([${JSON.stringify(file)}, '--extension', 'x-own'], streams, AbortSignal.abort()))`
  const missing = 'mock needs Fastify, which is not installed: npm install --save-dev fastify@5'
  t.equal(await runWithout(t, 'fastify', program), `${missing}\n1`)
})

t.test('--help says what it does', async (t) => {
  const { code, texts } = run(['--help'])
  t.equal(await code, 0)
  t.match(texts.stdout, /^Usage: contract-engine mock/)
})
