// Bundles each program of the service, with all its imports, in dist/service/. Otherwise, finding, reading
// and linking 900 modules takes half of the CPU of a start, and glue compiles the schema of OpenAPI. Programs
// run the bundle; tests and tools run the compiler's output.
'use strict'

const { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const path = require('node:path')
const { pathToFileURL } = require('node:url')

// Returns the folders of a project, and of the packages in its bundle: built in this repository, or
// installed.
function placesOf(root) {
  const from = createRequire(path.join(root, 'package.json'))
  const [engine, service] = ['contract-engine', 'contract-service'].map((name) =>
    path.join(path.dirname(from.resolve(`${name}/package.json`)), 'dist/src'),
  )
  return {
    ...{ root, from, engine, service },
    folder: path.join(root, 'dist/service'),
    migrations: path.join(service, '../../migrations'),
    staticFiles: path.join(engine, 'serve/documents/static'), // for /docs, read beside the bundle
    optional: Object.keys(from('contract-service/package.json').peerDependenciesMeta ?? {}),
  }
}

const recordOf = (root) => path.join(root, 'dist/.service.json')

const options = {
  ...{ splitting: true, chunkNames: '[name]-[hash]' },
  ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20.19', metafile: true },
  ...{ sourcemap: true, sourcesContent: false },
  alias: { '@seriousme/openapi-schema-validator': 'contract-engine/valid-specification' }, // which glue imports
  // Saves 5 MB of resident memory. Lines stay short, because Node prints the line of an uncaught error.
  ...{ minifyWhitespace: true, lineLimit: 500 },
  // CommonJS packages in the bundle need `require` for Node's own modules.
  banner: {
    js: "import { createRequire as toRequire } from 'node:module'; const require = toRequire(import.meta.url)",
  },
}

/**
 * Bundles the programs of the project in a folder, if anything has changed. Rejects if one cannot be bundled,
 * after esbuild has printed the reason.
 */
async function bundle(root) {
  const places = placesOf(root)
  const { from, folder, migrations, staticFiles } = places
  const version = await engineVersion(places) // of all its code, much of which is not bundled
  const before = lastRecord(root)
  if (before.version === version && isUnchanged(root, before)) return
  const began = Date.now()
  const { build } = from('esbuild') // a production install has none, and runs the existing bundle
  const plugins = [latePackages(places), unneededOfFastify, mapsOfPackages]
  const define = { bundledEngineVersion: JSON.stringify(version) } // the plan is of this engine
  const project = { absWorkingDir: root, outdir: folder, entryPoints: programs(places) }
  const { metafile } = await build({ ...options, ...project, plugins, define })
  // Keeps the files of the previous bundle beside the new ones: running instances have them open, or load
  // them later.
  rmSync(path.join(folder, 'static'), { recursive: true, force: true })
  cpSync(staticFiles, path.join(folder, 'static'), { recursive: true })
  cpSync(migrations, path.join(folder, 'migrations'), { recursive: true })
  const outputs = Object.keys(metafile.outputs)
  removeAllBut(places, [...outputs, ...Object.keys(before.times)])
  const inputs = Object.keys(metafile.inputs).filter((file) => !isOfPackage(file))
  const sources = [...inputs, ...otherSources(places)]
  if (sources.some((file) => timeOf(root, file) >= began)) return // edited meanwhile: for the next build
  const times = [...sources, ...outputs].map((file) => [file, timeOf(root, file)])
  writeFileSync(recordOf(root), JSON.stringify({ version, times: Object.fromEntries(times) }))
}

async function engineVersion({ engine }) {
  const built = await import(pathToFileURL(path.join(engine, 'document/engine-version.js')))
  return built.engineVersion()
}

// Lists the programs: the service, the operators' commands, and any other that package.json starts. Takes the
// project's own source of a program, if there is one, else the package's.
function programs({ root, service }) {
  const { scripts = {} } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
  const started = Object.values(scripts).map((script) => /dist\/service\/(\S+)\.js/.exec(script)?.[1])
  const named = ['main', 'commands/keys', 'commands/migrate', ...started.filter((name) => name !== undefined)]
  const sourceOf = (name) => {
    const own = path.join(root, 'src', `${name}.ts`)
    return existsSync(own) ? own : path.join(service, `${name}.js`)
  }
  return Object.fromEntries(named.map((name) => [name, sourceOf(name)]))
}

/** True if an input or an output of the bundle has changed. */
function isOutdated(root) {
  return !isUnchanged(root, lastRecord(root))
}

function isUnchanged(root, { times }) {
  return Object.entries(times).every(([file, time]) => timeOf(root, file) === time)
}

function lastRecord(root) {
  try {
    return JSON.parse(readFileSync(recordOf(root), 'utf8'))
  } catch (_) {
    return { version: undefined, times: {} }
  }
}

// npm writes its list of packages whenever one changes.
function otherSources({ root, staticFiles, migrations }) {
  const names = [staticFiles, migrations].flatMap((from) =>
    readdirSync(from).map((name) => path.relative(root, path.join(from, name))),
  )
  return [path.relative(root, __filename), 'package.json', 'node_modules/.package-lock.json', ...names]
}

function timeOf(root, file) {
  return statSync(path.join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function isOfPackage(file) {
  return file.includes('node_modules/')
}

function removeAllBut({ root, folder }, outputs) {
  const kept = new Set(outputs.map((file) => path.relative(folder, path.join(root, file))))
  for (const file of readdirSync(folder, { recursive: true }))
    if (/\.(js|map)$/.test(file) && path.dirname(file) !== 'static' && !kept.has(file))
      rmSync(path.join(folder, file))
}

// Keeps dynamically imported packages out of the bundle: a bundled CommonJS package would lose all its names
// but `default`. Also keeps out optional packages, which not every service installs.
const latePackages = ({ optional }) => ({
  name: 'late-packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[@\w]/ }, ({ kind, path: name }) =>
      kind === 'dynamic-import' || optional.includes(name) ? { external: true } : undefined,
    )
  },
})

// Leaves out what Fastify requires only to compile a schema or inject a request; the service does neither.
// These are Ajv's compiler and a second compiler of serializers: a third of the text that each start would
// read.
const unneededOfFastify = {
  name: 'unneeded-of-fastify',
  setup({ onResolve }) {
    const filter = /^(@fastify\/(ajv|fast-json-stringify)-compiler|light-my-request)$/
    onResolve({ filter }, () => ({ external: true }))
  },
}

// Maps each line of a package to its file's first line, so that a stack trace names the file. Exact maps are
// six times the size, and pino makes Node 22 and newer read them at each start, into 50 MB.
const mapsOfPackages = {
  name: 'maps-of-packages',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]node_modules[\\/].*\.[cm]?js$/ }, ({ path: file }) => ({
      contents: `${readFileSync(file, 'utf8')}\n//# sourceMappingURL=${mapOf(path.basename(file))}`,
      loader: 'js',
    }))
  },
}

function mapOf(name) {
  const map = JSON.stringify({ version: 3, sources: [name], mappings: 'AAAA' })
  return `data:application/json;base64,${Buffer.from(map).toString('base64')}`
}

module.exports = { bundle, isOutdated }
