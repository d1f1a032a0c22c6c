// Patterns that JavaScript, which matches by backtracking, needs far longer for than their text has
// characters: whoever sends a text that nearly matches would stop the server. recheck finds them.

import { createRequire } from 'node:module'
import type { Schema } from '../contract/contract.js'
import type { Pointer, Problem } from '../contract/contract-error.js'
import { schemaPlaces } from '../contract/schema-places.js'
import { toRegExp } from '../schemas/patterns.js'
import { installedStore, type Judgement, type JudgementStore } from './judgements.js'

const require = createRequire(import.meta.url)

/** A pattern that may take long, and its place. */
export interface SlowPattern extends Problem {
  /** Whether each further character multiplies the time: no length is safe. */
  readonly isExponential: boolean
}

/**
 * The patterns of a document that may take long for a text of the length that their schema allows.
 * @param store what was found by runs before this one, and will be by later ones
 */
export function slowPatterns(
  document: object,
  store: JudgementStore = installedStore({ bounded, fewTrials }),
): SlowPattern[] {
  const places = schemaPlaces(document).flatMap(({ schema, at }) => patternsOf(schema, at))
  const judgements = judgeAll(new Set(places.map(({ pattern }) => pattern)), store)
  return places.flatMap(({ pattern, lengthMax, at }) => {
    const fault = faultOf(judgements.get(pattern) ?? null, lengthMax)
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

function faultOf(found: Judgement | string, lengthMax: number): Omit<SlowPattern, 'at'> | undefined {
  if (typeof found === 'string') return { isExponential: false, text: found }
  if (found === null) return undefined
  const isExponential = found.degree === 'exponential'
  const degree = found.degree === 'exponential' ? Number.POSITIVE_INFINITY : found.degree
  if (lengthMax ** degree <= stepsMax) return undefined
  const growth = isExponential
    ? 'each further character multiplies its time'
    : `its time grows with the length to the power of ${degree}`
  const bound = isExponential
    ? 'L'
    : `Add a maxLength of at most ${Math.floor(stepsMax ** (1 / degree))}, or l`
  const text = `backtracks: ${growth}, as in ${found.attack}. ${bound}et only one of its repetitions match it`
  return { isExponential, text }
}

// Of each pattern, and of all. One that is tried with texts takes 40 to 400 ms, others 1 to 40 ms.
const eachMs = 10_000
const allMs = 60_000

// The judgement of each pattern, or why it was not judged.
function judgeAll(
  patterns: ReadonlySet<string>,
  store: JudgementStore,
): ReadonlyMap<string, Judgement | string> {
  const end = performance.now() + allMs
  const known = patterns.size > 0 ? store.read() : new Map<string, Judgement>()
  const count = known.size
  const judgements = new Map<string, Judgement | string>()
  for (const pattern of patterns) {
    const found = known.get(pattern)
    const judgement = found === undefined ? judgementOf(pattern, performance.now() > end) : found
    judgements.set(pattern, judgement)
    if (typeof judgement !== 'string') known.set(pattern, judgement)
  }
  if (known.size > count) store.keep(known)
  return judgements
}

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

function judgementOf(pattern: string, isLate: boolean): Judgement | string {
  if (isLate) return 'was not judged: there are too many to judge in a minute'
  const check = loadCheck()
  if (check === undefined)
    return 'was not judged, because recheck is not installed: npm install --save-dev recheck@4'
  const expression = expressionOf(pattern)
  if (expression === undefined) return null // an error where it is compiled
  const { source, flags } = expression
  const quick = check(source, flags, { ...bounded, ...fewTrials })
  const isSure = quick.status !== 'vulnerable' || quick.checker === 'automaton'
  const found = isSure ? quick : check(source, flags, bounded)
  if (found.status === 'safe') return null
  if (found.status === 'vulnerable') {
    const { complexity, attack } = found
    return {
      degree: complexity.type === 'exponential' ? 'exponential' : complexity.degree,
      attack: attack.pattern,
    }
  }
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
