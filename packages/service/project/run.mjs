// Runs a tool of this package: node run.mjs generate [arguments]. It is bundled in the project's dist/tools/
// when one of its modules has changed, and what V8 has compiled of the bundle is kept: to find, translate and
// compile the 1,100 modules of `generate` takes twice the processor of its work.

import { isAscii } from 'node:buffer'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { constants, Script } from 'node:vm'
import { digestOf, digestOfFile, isCurrent, packageList, root } from './digests.mjs'

const folder = path.join(root, 'dist/tools')

/**
 * The bundle of a tool and its text, made again unless it is that of its sources and packages as they are.
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

// V8 keeps a text of ASCII in half the memory, and reads it in less time.
function textOf(bytes) {
  return isAscii(bytes) ? bytes.latin1Slice() : bytes.toString()
}

// At once: another process may be reading it.
function replace(file, content) {
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(`${file}.${process.pid}`, content)
  renameSync(`${file}.${process.pid}`, file)
}

/** Runs a bundle with what V8 has kept of it. */
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

// V8 knows a cache of another version of its own, but not that of another text of the same length, nor one
// that is damaged.
function readCache(file, digest) {
  try {
    const kept = readFileSync(file)
    const data = kept.subarray(digest.length)
    return kept.subarray(0, digest.length).toString('latin1') === digestOf(digest, data) ? data : undefined
  } catch {
    return undefined
  }
}

// When the tool has done its work, most of what it needs is compiled. What cannot be kept is compiled again.
function keep(script, file, digest) {
  try {
    const data = script.createCachedData()
    replace(file, Buffer.concat([Buffer.from(digestOf(digest, data), 'latin1'), data]))
  } catch {}
}

/** What `import.meta` is in a module of the bundle, by its own file. */
globalThis.importMetaOf = (name) => {
  const filename = path.resolve(root, name)
  const { href } = pathToFileURL(filename)
  const resolve = (to) => (to.startsWith('.') ? new URL(to, href).href : import.meta.resolve(to))
  return { url: href, filename, dirname: path.dirname(filename), resolve }
}

const [, program, name, ...args] = process.argv
process.argv = [process.execPath, program, ...args]
run(await bundleOf(name), !args.includes('--help') && !args.includes('-h'))
