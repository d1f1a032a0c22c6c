// Finds patterns that JavaScript, which matches by backtracking, may take very long to match. A client that
// sends a text which nearly matches would stop the server. recheck does the analysis.

import type { Schema } from '../document/contract.js'
import type { Pointer, Problem } from '../document/contract-error.js'
import { toRegExp } from '../document/patterns.js'
import { schemaPlaces } from '../document/schema-places.js'
import { once } from '../runtime/once.js'
import { isBounded } from './bounded-pattern.js'
import {
  type Judgement,
  type Judgements,
  judgementsFile,
  judgementsText,
  readJudgements,
  rulesName,
} from './judgements.js'
import { loadCheck, recheckVersion } from './recheck.js'

/** A pattern that may take long, and its place. */
export interface SlowPattern extends Problem {
  /** True if each further character multiplies the time, so that no length is safe. */
  readonly isExponential: boolean
  /** False if the pattern could not be judged, so that it may be slow or not. */
  readonly isJudged: boolean
}

/**
 * Returns the patterns of a document that may take long for a text of the length that their schema allows.
 * @param judgements of all the document's patterns
 */
export function slowPatterns(
  document: object,
  judgements: Judgements = judgementsOf(document),
): SlowPattern[] {
  return placesIn(document).flatMap(({ pattern, lengthMax, at }) => {
    const fault = faultOf(judgements.get(pattern) ?? null, lengthMax)
    return fault === undefined ? [] : [{ ...fault, text: `the pattern ${pattern} ${fault.text}`, at }]
  })
}

/**
 * Judges the patterns of a document that are valid in JavaScript; others are an error when they are compiled.
 * The verdicts depend only on the patterns, not on the machine.
 * @param kept judgements that are known already
 */
export function judgementsOf(document: object, kept: Judgements = new Map()): Judgements {
  const judgements = new Map<string, Judgement | string>()
  for (const { pattern } of placesIn(document)) {
    const known = kept.get(pattern) // null is a judgement, too
    const expression = judgements.has(pattern) ? undefined : expressionOf(pattern)
    if (expression !== undefined) judgements.set(pattern, known === undefined ? judge(expression) : known)
  }
  return judgements
}

/**
 * Like `judgementsOf`, with the judgements that the folder of the generated files keeps.
 * @returns the judgements, and by its name the file that the folder should keep them in
 */
export async function keptJudgements(document: object, folder: string) {
  const version = recheckVersion()
  const rules = version && rulesName(version, { bounded, fewTrials })
  const judgements = judgementsOf(document, await readJudgements(folder, rules))
  const isKept = rules !== undefined && judgements.size > 0
  return { judgements, files: isKept ? [[judgementsFile, judgementsText(judgements, rules)] as const] : [] }
}

const placesIn = once((document: object): PatternPlace[] =>
  schemaPlaces(document).flatMap(({ schema, at }) => patternsOf(schema, at)),
)

/** The message of --check about a document with a pattern that was not judged. */
export const unjudged = 'A pattern that was not judged is an error: it could stop the server.'

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

// About 10 ms: with `\d+$`, 3,162 digits take 6.4 ms, and 65,000 take 2.8 s.
const stepsMax = 10_000_000

function faultOf(found: Judgement | string, lengthMax: number): Omit<SlowPattern, 'at'> | undefined {
  if (typeof found === 'string') return { isExponential: false, isJudged: false, text: found }
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
  return { isExponential, isJudged: true, text }
}

// The limits count steps and characters, not time, so that a busy machine finds the same. Most patterns take
// 1 to 400 ms; those that use up all steps take up to two minutes.
const bounded = {
  timeout: 5_000_000,
  attackLimit: stepsMax,
  ...{ attackTimeout: null, incubationTimeout: null, seedingTimeout: null },
  // The analysis of larger automata takes up to seconds, so recheck tries texts for them, too.
  maxNFASize: 1000,
}

// For large automata, and for patterns with look-around or references back, recheck tries texts. With fewer
// trials, it finds the same patterns in a fifth of the time, though perhaps not how slow they are.
const fewTrials = {
  ...{ maxIteration: 4, maxInitialGenerationSize: 150, maxGenerationSize: 40 },
  ...{ mutationSize: 20, crossoverSize: 10 },
}

function judge({ source, flags }: RegExp): Judgement | string {
  if (isBounded(source)) return null // as recheck would find
  const check = loadCheck()
  if (check === undefined)
    return 'was not judged, because recheck is not installed: npm install --save-dev recheck@4'
  const quick = check(source, flags, { ...bounded, ...fewTrials })
  const isSure = quick.status !== 'vulnerable' || quick.checker === 'automaton'
  const found = isSure ? quick : check(source, flags, bounded)
  // If the full check is undecided, the few trials have at least found that the pattern is slow.
  return resultOf(found.status === 'unknown' ? quick : found)
}

function resultOf(found: import('recheck').Diagnostics): Judgement | string {
  if (found.status === 'safe') return null
  if (found.status === 'vulnerable') {
    const { complexity, attack } = found
    return {
      degree: complexity.type === 'exponential' ? 'exponential' : complexity.degree,
      attack: attack.pattern,
    }
  }
  const { kind } = found.error
  const reason = kind === 'timeout' ? 'it is too large for recheck' : `recheck: ${kind}`
  return `was not judged (${reason}): split it, as by an anyOf, or repeat less of it`
}

function expressionOf(pattern: string): RegExp | undefined {
  try {
    return toRegExp(pattern, 'u')
  } catch {
    return undefined
  }
}
