// recheck, with a clock that counts: what it finds of a pattern depends on nothing else that a machine does.
// By a real clock, a busy machine would let a pattern pass that can stop the server.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { compileFunction } from 'node:vm'

type Check = typeof import('recheck').checkSync

const require = createRequire(import.meta.url ?? __filename) // in a bundle in CommonJS
let loaded: Check | undefined

/** Returns the version of recheck, if it is installed. */
export function recheckVersion(): string | undefined {
  const manifest = findManifest()
  return manifest && require(manifest).version
}

/**
 * Loads recheck, if it is installed. Its option `timeout` counts steps here, of which about 400 take a
 * millisecond.
 */
export function loadCheck(): Check | undefined {
  const manifest = findManifest()
  if (manifest !== undefined) loaded ??= load(path.join(path.dirname(manifest), 'lib/browser.js'))
  return loaded
}

// While recheck tries texts, each look at the clock counts as one step. Before, while it works with automata,
// a look takes 6 to 180 µs, and counts as more.
const stepsOfAutomata = 20

// Loads recheck's build for browsers, which is JavaScript alone: the other build would start Java or a
// binary. It looks at the clock as it works, which recheck 4.5.0 does through `performance`.
function load(filename: string): Check {
  const module = { exports: {} }
  const names = ['module', 'exports', 'performance']
  const run = compileFunction(readFileSync(filename, 'utf8'), names, { filename })
  let steps = 0
  let ofLook = stepsOfAutomata
  run(module, module.exports, { now: () => (steps += ofLook) })
  const { checkSync } = module.exports as { readonly checkSync: Check } // a CommonJS module has no type here
  return (source, flags, parameters) => {
    ofLook = stepsOfAutomata
    const logger = (message: string) => {
      if (message.startsWith('fuzz: seeding finish')) ofLook = 1
    }
    return checkSync(source, flags, { ...parameters, logger })
  }
}

function findManifest(): string | undefined {
  try {
    return require.resolve('recheck/package.json')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}
