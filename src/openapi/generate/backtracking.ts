// Patterns that JavaScript, which matches by backtracking, needs far longer for than their text has
// characters: whoever sends a text that nearly matches would stop the server. recheck finds them.

import { createRequire } from 'node:module'
import type { Diagnostics } from 'recheck'
import type { Schema } from '../contract/contract.js'
import type { Pointer, Problem } from '../contract/contract-error.js'
import { schemaPlaces } from '../contract/schema-places.js'
import { toRegExp } from '../schemas/patterns.js'

const require = createRequire(import.meta.url)

/** A pattern that may take long, and its place. */
export interface SlowPattern extends Problem {
  /** Whether each further character multiplies the time: no length is safe. */
  readonly isExponential: boolean
}

/** The patterns of a document that may take long for a text of the length that their schema allows. */
export function slowPatterns(document: object): SlowPattern[] {
  const places = schemaPlaces(document).flatMap(({ schema, at }) => patternsOf(schema, at))
  const judge = createJudge()
  return places.flatMap(({ pattern, lengthMax, at }) => {
    const fault = faultOf(judge(pattern), lengthMax)
    return fault === undefined ? [] : [{ ...fault, text: `the pattern ${pattern} ${fault.text}`, at }]
  })
}

interface PatternPlace {
  readonly pattern: string
  readonly lengthMax: number
  readonly at: Pointer
}

function patternsOf({ pattern, maxLength, patternProperties }: Schema, at: Pointer): PatternPlace[] {
  const lengthMax = typeof maxLength === 'number' ? maxLength : Number.POSITIVE_INFINITY
  const own = typeof pattern === 'string' ? [{ pattern, lengthMax, at: [...at, 'pattern'] }] : []
  const names = Object.keys((patternProperties ?? {}) as object)
  const ofNames = names.map((name) => {
    return { pattern: name, lengthMax: Number.POSITIVE_INFINITY, at: [...at, 'patternProperties', name] }
  })
  return [...own, ...ofNames]
}

// About 10 ms: 3,162 digits take 6.4 ms with \d+$, and 65,000 take 2.8 s.
const stepsMax = 10_000_000

function faultOf(found: Judgement, lengthMax: number): Omit<SlowPattern, 'at'> | undefined {
  if (typeof found === 'string') return { isExponential: false, text: found }
  if (found?.status !== 'vulnerable') return undefined
  const { complexity, attack } = found
  const isExponential = complexity.type === 'exponential'
  const degree = complexity.type === 'exponential' ? Number.POSITIVE_INFINITY : complexity.degree
  if (lengthMax ** degree <= stepsMax) return undefined
  const growth = isExponential
    ? 'each further character multiplies its time'
    : `its time grows with the length to the power of ${degree}`
  const bound = isExponential
    ? 'L'
    : `Add a maxLength of at most ${Math.floor(stepsMax ** (1 / degree))}, or l`
  const text = `backtracks: ${growth}, as in ${attack.pattern}. ${bound}et only one of its repetitions match it`
  return { isExponential, text }
}

/** What recheck found, or why a pattern was not judged. */
type Judgement = Diagnostics | string | undefined

// Of each pattern, and of all. One that is tried with texts takes 40 to 400 ms, others 1 to 40 ms.
const eachMs = 10_000
const allMs = 60_000

function createJudge(): (pattern: string) => Judgement {
  const end = performance.now() + allMs
  return (pattern) => {
    const known = judged.get(pattern)
    if (known !== undefined) return known
    if (performance.now() > end) return 'was not judged: there are too many to judge in a minute'
    const found = judgementOf(pattern)
    judged.set(pattern, found)
    return found
  }
}

// For the contracts that a process reads after each other.
const judged = new Map<string, Judgement>()

// In characters that are read, not in time, so that a busy machine finds the same.
const bounded = {
  timeout: eachMs,
  attackLimit: stepsMax,
  ...{ attackTimeout: null, incubationTimeout: null, seedingTimeout: null },
  // Of larger automata the analysis takes up to seconds: those are tried with texts, too.
  maxNFASize: 1000,
}

// Of those, and of patterns with look-around or references back, recheck tries texts: with fewer it finds the
// same in a fifth of the time, though maybe not how bad they are.
const fewTrials = {
  ...{ maxIteration: 4, maxInitialGenerationSize: 150, maxGenerationSize: 40 },
  ...{ mutationSize: 20, crossoverSize: 10 },
}

function judgementOf(pattern: string): Judgement {
  const check = loadCheck()
  if (check === undefined)
    return 'was not judged, because recheck is not installed: npm install --save-dev recheck@4'
  const expression = expressionOf(pattern)
  if (expression === undefined) return undefined // an error where it is compiled
  const { source, flags } = expression
  const quick = check(source, flags, { ...bounded, ...fewTrials })
  const isSure = quick.status !== 'vulnerable' || quick.checker === 'automaton'
  const found = isSure ? quick : check(source, flags, bounded)
  if (found.status !== 'unknown') return found
  const { kind } = found.error
  return `was not judged (recheck: ${kind}): make sure that only one of its repetitions matches a character`
}

function expressionOf(pattern: string): RegExp | undefined {
  try {
    return toRegExp(pattern, 'u')
  } catch {
    return undefined
  }
}

// Its build for browsers, which is JavaScript alone: the other one would start Java or a binary of its own.
// Loaded for a contract with patterns alone.
function loadCheck(): typeof import('recheck').checkSync | undefined {
  try {
    return require('recheck/lib/browser.js').checkSync
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}
