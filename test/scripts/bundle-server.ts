import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { startProcess, temporaryDirectory } from 'contract-service/fixtures/process'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'
import { createDatabase, send } from '../fixtures/service.js'

const bundle = path.join(projectRoot, 'dist/service')
const files = readdirSync(bundle, { recursive: true, encoding: 'utf8' })
const read = (file: string) => readFileSync(path.join(bundle, file), 'utf8')

// Starts the service of a project or of an installation, with a separate database.
async function start(t: Test, env: Record<string, string> = {}, root = projectRoot) {
  const { url } = await startDatabaseProxy(t, await createDatabase(t))
  const service = await startProcess(t, { DATABASE_URL: url, ...env }, { root })
  return { service, origin: new URL(service.base).origin }
}

t.test(
  'fastify-openapi-glue imports @seriousme/openapi-schema-validator, which the bundle replaces',
  async (t) => {
    const parser = path.join(projectRoot, 'node_modules/fastify-openapi-glue/lib/Parser.js')
    t.match(readFileSync(parser, 'utf8'), 'import { Validator } from "@seriousme/openapi-schema-validator"')
  },
)

t.test('the bundle is made again when the version of the engine is another, as that of the plan is', (t) => {
  const { version } = JSON.parse(readFileSync(path.join(projectRoot, 'dist/.service.json'), 'utf8'))
  const plan = readFileSync(path.join(projectRoot, 'dist/generated/contract.plan'), 'latin1')
  const head = JSON.parse(/\{.*\}/.exec(plan)?.[0] ?? '{}')
  t.equal(version, head.engine)
  t.end()
})

t.test('an error has the name of its class, which log lines show', async (t) => {
  const sources = ['src', 'packages/engine/src', 'packages/service/src'].flatMap((folder) =>
    readdirSync(path.join(projectRoot, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
      path.join(projectRoot, folder, file),
    ),
  )
  const names = sources
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(file, 'utf8'))
    .flatMap((text) => [...text.matchAll(/class (\w+) extends \w*Error\b/g)].map(([, name = '']) => name))
  const text = files
    .filter((file) => file.endsWith('.js'))
    .map(read)
    .join('\n')
  t.ok(names.length > 5)
  for (const name of names) t.notMatch(text, new RegExp(`\\b${name}\\d+ ?= ?class\\b`), name)
})

t.test(
  'a preload sees requests, and stacks name the lines of sources and the files of packages',
  async (t) => {
    const preload = path.join(temporaryDirectory(t), 'preload.mjs')
    writeFileSync(
      preload,
      `import { subscribe } from 'node:diagnostics_channel'
     subscribe('tracing:fastify.request.handler:start', () => console.error(new Error('a request').stack))`,
    )
    const { service, origin } = await start(t, { NODE_OPTIONS: `--import ${pathToFileURL(preload)}` })
    t.equal((await send(`${origin}/healthz`)).status, 200)
    const { stderr } = await service.stop()
    const frames = [...stderr.matchAll(/^ +at (?:[^(\n]*\()?([^(\n]+):(\d+):(\d+)\)?$/gm)]
    const own = frames.filter(([, file = '']) =>
      /^(packages\/(engine|service)\/)?src\//.test(path.relative(projectRoot, file)),
    )
    t.ok(own.length > 0, stderr)
    for (const [frame, file = '', line, column] of own) {
      const text = readFileSync(file, 'utf8').split('\n')[Number(line) - 1] ?? ''
      t.match(text.slice(Number(column) - 1), /^[\w.]+\(|^new /, frame) // a call
    }
    const packages = frames.filter(([, file = '']) => file.includes('/node_modules/'))
    t.ok(packages.some(([, file]) => file?.includes('/node_modules/fastify/lib/')))
    t.notMatch(stderr, 'dist/service')
  },
)

// Packages that a program reads or loads only when it needs them.
const late = [
  ...['@apidevtools/json-schema-ref-parser', '@mongodb-js/saslprep', '@scalar/fastify-api-reference'],
  'pino-pretty',
]

// A module that only the sources use.
const ofSources = 'contract-engine/compile'

t.test('a package that is imported late has its names', async (t) => {
  const programs = files.filter((file) => file.endsWith('.js')).map((file) => ({ file, text: read(file) }))
  const imported = programs
    .flatMap(({ text }) => [...text.matchAll(/\bimport\("([^."][^"]*)"\)/g)].map(([, name = '']) => name))
    .filter((name) => !isBuiltin(name))
  t.strictSame(
    imported.filter((name) => !late.includes(name) && name !== ofSources),
    [],
  )
  t.ok(imported.length > 0)
  // A bundled CommonJS chunk would have only the name `default`. The exception asks for a machine's id, for a
  // detector that the service does not use.
  const withoutNames = programs.filter(({ text }) => text.includes('export default require_'))
  for (const { file } of withoutNames) t.match(file, /^getMachineId-/)
})

t.test('a package that only some services install is none of the bundle', async (t) => {
  const programs = files.filter((file) => /^jwt-check-.*\.js$/.test(file))
  t.match(programs.map(read), [/\bfrom"jose"/])
})

t.test('an installation without sources and with few packages serves all', async (t) => {
  const root = temporaryDirectory(t)
  for (const part of [
    'package.json',
    'openapi.yaml',
    'dist/service',
    'dist/generated/contract.plan',
    'src/migrations',
  ])
    cpSync(path.join(projectRoot, part), path.join(root, part), { recursive: true })
  for (const name of late) {
    const place = path.join('node_modules', name)
    mkdirSync(path.dirname(path.join(root, place)), { recursive: true })
    symlinkSync(path.join(projectRoot, place), path.join(root, place))
  }
  const { service, origin } = await start(
    t,
    // Compressing Scalar takes a busy machine longer than the default.
    { METRICS_PORT: '0', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', HANDLER_TIMEOUT_MS: '100000' },
    root,
  )
  for (const place of [
    '/readyz',
    '/docs',
    '/docs/page.css',
    '/docs/page.js',
    '/docs/scalar.js',
    '/openapi.json',
  ])
    t.equal((await send(origin + place)).status, 200, place)
  t.match(await service.stop(), { code: 0 })
})
