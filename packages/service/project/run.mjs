// Runs a tool of this package: node run.mjs generate [arguments]. Bundles the tool in the project's
// dist/tools/ if one of its modules has changed, and keeps V8's compiled code of the bundle. Otherwise,
// finding, translating and compiling the 1,100 modules of `generate` takes twice the CPU of its work.

import { isAscii } from 'node:buffer'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { constants, Script } from 'node:vm'
import { digestOf, digestOfFile, isCurrent, packageList, root } from './digests.mjs'

const folder = path.join(root, 'dist/tools')

/**
 * Returns the bundle of a tool, and its text. Makes the bundle again if its sources or packages have changed.
 */
async function bundleOf(name) {
  const files = { bundle: path.join(folder, `${name}.cjs`), record: path.join(folder, `${name}.json`) }
  const { packages, inputs = {}, digest } = readRecord(files.record)
  const present = readBytes(files.bundle)
  const isKept = packages !== undefined && packages === digestOfFile(packageList) && isCurrent(inputs)
  if (isKept && digest === digestOf(present)) return { file: files.bundle, text: textOf(present), digest }
  const { bundleTool } = await import('./bundle-tool.mjs')
  const { contents, ...made } = await bundleTool(name)
  const record = { ...made, digest: digestOf(contents) }
  replace(files.bundle, contents)
  replace(files.record, JSON.stringify(record))
  return { file: files.bundle, text: textOf(contents), digest: record.digest }
}

function readRecord(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}

function readBytes(file) {
  try {
    return readFileSync(file)
  } catch {
    return Buffer.of()
  }
}

// V8 keeps an ASCII text in half the memory, and reads it faster.
function textOf(bytes) {
  return isAscii(bytes) ? bytes.latin1Slice() : bytes.toString()
}

// Replaces a file atomically, because another process may be reading it.
function replace(file, content) {
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(`${file}.${process.pid}`, content)
  renameSync(`${file}.${process.pid}`, file)
}

/** Runs a bundle with the compiled code that V8 has kept. */
function run({ file, text, digest }, isKeeping) {
  const cacheFile = file.replace(/\.cjs$/, '.cache')
  const cachedData = readCache(cacheFile, digest)
  const script = new Script(Module.wrap(text), {
    ...{ filename: file, cachedData },
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const isMissing = cachedData === undefined || script.cachedDataRejected
  if (isMissing && isKeeping) process.on('exit', (code) => code === 0 && keep(script, cacheFile, digest))
  const module = { exports: {} }
  const start = script.runInThisContext()
  start(module.exports, createRequire(file), module, file, path.dirname(file))
}

// Returns V8's cache, if it is intact and belongs to this bundle. V8 itself only rejects the cache of another
// version of V8, or of a text of another length.
function readCache(file, digest) {
  try {
    const kept = readFileSync(file)
    const data = kept.subarray(digest.length)
    return kept.subarray(0, digest.length).toString('latin1') === digestOf(digest, data) ? data : undefined
  } catch {
    return undefined
  }
}

// Keeps the compiled code when the tool has finished, because most functions are compiled by then. If it
// cannot be kept, the next run compiles again.
function keep(script, file, digest) {
  try {
    const data = script.createCachedData()
    replace(file, Buffer.concat([Buffer.from(digestOf(digest, data), 'latin1'), data]))
  } catch {}
}

/** Returns the `import.meta` of a module in the bundle, by the module's own file. */
globalThis.importMetaOf = (name) => {
  const filename = path.resolve(root, name)
  const { href } = pathToFileURL(filename)
  const resolve = (to) => (to.startsWith('.') ? new URL(to, href).href : import.meta.resolve(to))
  return { url: href, filename, dirname: path.dirname(filename), resolve }
}

const [, program, name, ...args] = process.argv
process.argv = [process.execPath, program, ...args]
run(await bundleOf(name), !args.includes('--help') && !args.includes('-h'))
