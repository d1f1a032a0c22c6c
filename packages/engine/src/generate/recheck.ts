// recheck, with a clock that counts: what it finds of a pattern depends on nothing else that a machine does.
// By a real clock, a busy machine would let a pattern pass that can stop the server.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { compileFunction } from 'node:vm'

type Check = typeof import('recheck').checkSync

const require = createRequire(import.meta.url ?? __filename) // in a bundle in CommonJS
let loaded: Check | undefined

/** The version of the recheck that is installed, if one is. */
export function recheckVersion(): string | undefined {
  const manifest = findManifest()
  return manifest && require(manifest).version
}

/**
 * Loads recheck, if it is installed. It works at most as many steps as its `timeout` is, of which some 400
 * take a millisecond.
 */
export function loadCheck(): Check | undefined {
  const manifest = findManifest()
  if (manifest !== undefined) loaded ??= load(path.join(path.dirname(manifest), 'lib/browser.js'))
  return loaded
}

// A look at the clock is a step where recheck tries texts. Its work with automata, before, takes 6 to 180 us
// a look.
const stepsOfAutomata = 20

// Its build for browsers, which is JavaScript alone: the other one would start Java or a binary of its own.
// It looks at its clock as it works, which recheck 4.5.0 finds as `performance`.
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
