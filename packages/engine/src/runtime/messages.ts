// Writes Ajv's errors as messages for clients: `body.categoryId must be an integer`.

import type { ErrorObject } from 'ajv'
import { stringify } from 'lossless-json'
import type { Pointer } from '../document/contract-error.js'
import { jsonPointer, tokensOf } from '../document/pointer.js'
import { withArticle } from './exact-numbers.js'
import { formats } from './formats.js'

/** How many violations of a request are shown. */
export const shownMax = 20
const nameLengthMax = 64
const alternativesLengthMax = 600

/** A place of a value, and its first problem. */
export interface Described {
  /** `body.age must be an integer`. Lists and names are bounded in length. */
  readonly sentence: string
  /** `must be an integer` */
  readonly problem: string
  /** The place within the part (RFC 6901), or a place around it if the pointer would be too long. */
  readonly pointer: string
}

/** Returns one sentence per place, with its first problem. */
export function describeViolations(part: string, errors: readonly ErrorObject[]): string[] {
  return firsts(violationsOf(part, errors)).map(sentence)
}

/** Returns the places that errors are about, each with its first problem. */
export function describePlaces(part: string, errors: readonly ErrorObject[]): Described[] {
  return firsts(violationsOf(part, errors)).map((each) => {
    return { sentence: sentence(each), problem: each.problem, pointer: bounded(each.pointer) }
  })
}

// Names come from the client, and a long one may be in the pointers of many fields within it.
const pointerLengthMax = 1_000

function bounded(pointer: string): string {
  if (pointer.length <= pointerLengthMax) return pointer
  return pointer.slice(0, pointer.lastIndexOf('/', pointerLengthMax))
}

interface Violation {
  readonly place: string
  readonly pointer: string
  readonly problem: string
  readonly error: ErrorObject
}

function sentence({ place, problem }: Violation): string {
  return `${place} ${problem}`
}

function firsts(violations: readonly Violation[]): Violation[] {
  const byPlace = new Map<string, Violation>()
  for (const each of violations) {
    // A list of the allowed values helps more than the type.
    const isBetter = each.error.keyword === 'enum' && byPlace.get(each.place)?.error.keyword !== 'own'
    if (!byPlace.has(each.place) || isBetter) byPlace.set(each.place, each)
  }
  return [...byPlace.values()]
}

function violationsOf(part: string, errors: readonly ErrorObject[]): Violation[] {
  return errors.flatMap((error) => {
    const { propertyName, ...others } = error
    if (propertyName !== undefined) return violationsOf(part, [others]).map(ofName(propertyName))
    const { branches } = error.params as Branches
    // also an error of alternatives whose branches are not told
    if (branches === undefined) return [violation(part, error)]
    return alternatives(
      part,
      error,
      branches.map((each) => violationsOf(part, each)),
    )
  })
}

// A name has no parts, so a problem of a name is told at the property that has it.
function ofName(name: string): (violation: Violation) => Violation {
  return ({ place, pointer, problem, error }) => {
    const at = { place: place + property(name), pointer: pointer + jsonPointer([name]) }
    return { ...at, problem: `has a name that ${problem}`, error }
  }
}

/** The params of an error of `anyOf` or `oneOf`: the errors of each alternative. */
interface Branches {
  readonly branches?: readonly (readonly ErrorObject[])[]
  /** How many errors were looked for in each alternative. */
  readonly branchMax?: number
}

/** Returns an Ajv error for a problem that no schema reports. */
export function errorAt(path: Pointer, message: string): ErrorObject {
  return { instancePath: jsonPointer(path), schemaPath: '', keyword: 'own', params: {}, message }
}

/** Returns an error with another path, also in the errors of its alternatives. */
export function withPath(error: ErrorObject, change: (path: string) => string): ErrorObject {
  return mapError(error, (each) => ({ ...each, instancePath: change(each.instancePath) }))
}

/** Marks an error of a form that was judged when only the fields before a file had been read. */
export function beforeFile(error: ErrorObject, file: string): ErrorObject {
  return mapError(error, (each) =>
    each.keyword === 'required' && each.instancePath === ''
      ? { ...each, params: { ...each.params, file } }
      : each,
  )
}

function mapError(error: ErrorObject, change: (error: ErrorObject) => ErrorObject): ErrorObject {
  const branches = (error.params as Branches).branches?.map((each) =>
    each.map((one) => mapError(one, change)),
  )
  const changed = change(error)
  return { ...changed, params: { ...changed.params, ...(branches && { branches }) } }
}

/**
 * Joins the first `shownMax` sentences to one message.
 * @param areAll false if the search stopped before all violations were found
 */
export function joinViolations(violations: readonly string[], areAll = true): string {
  const more = violations.length - shownMax
  const rest = more > 0 || !areAll ? [areAll ? `and ${more} more` : 'and more'] : []
  return [...violations.slice(0, shownMax), ...rest].join('; ')
}

function violation(part: string, error: ErrorObject): Violation {
  const { keyword, params, instancePath } = error
  const at = part + propertyPath(instancePath)
  const of = (name: string, problem: string) => {
    return { place: at + property(name), pointer: instancePath + jsonPointer([name]), problem, error }
  }
  if (keyword === 'required') return of(params.missingProperty, missing(params))
  if (keyword === 'additionalProperties') return of(params.additionalProperty, unknown(part, error))
  if (keyword === 'unevaluatedProperties') return of(params.unevaluatedProperty, unknown(part, error))
  if (keyword === 'propertyNames') return of(params.propertyName, 'has a name that is not allowed')
  if (keyword === 'dependentRequired')
    return of(params.missingProperty, `is required with ${params.property}`)
  if (params.tag === 'missing') return of(params.property, 'is required')
  if (params.tag === 'unknown') return of(params.property, oneOf(params.allowed))
  return { place: at, pointer: instancePath, problem: problem(error), error }
}

// The client may have sent the field after the file.
function missing({ file }: Params): string {
  return file === undefined
    ? 'is required'
    : `is required before the file ${property(file).replace(/^\./, '')}: a form is read as it arrives`
}

const alternativesMax = 4
const problemsMax = 3

// Returns the violations of anyOf or oneOf: those of the alternatives that the client probably meant.
function alternatives(part: string, error: ErrorObject, all: readonly Violation[][]): Violation[] {
  const place = part + propertyPath(error.instancePath)
  const open = all.filter((each) => !each.some((one) => one.place === place && isImpossible(one)))
  const branches = open.length > 0 ? open : all
  const of = (problem: string) => [{ place, pointer: error.instancePath, problem, error }]
  if (error.params.passing > 1)
    return of(`must match exactly one alternative, but matches ${error.params.passing} of ${all.length}`)
  const { isText } = error.params
  const isOther = (one: Violation) => isWrongType(one) && !(isText && isOfText(one))
  const ofType = branches.filter((each) => !each.some((one) => one.place === place && isOther(one)))
  // If only allowed values are at fault, the alternatives of other types are named, too: from the allowed
  // values alone, a client would not learn that a number would do.
  const isNamed = isText ? isNoun : isOfValues
  if (ofType.every((each) => firsts(each).every((one) => one.place === place && isNamed(one))))
    return of(nounsProblem((isText && ofType.length > 0 ? ofType : branches).flatMap(firsts), place))
  const [only = [], ...others] = ofType.map(firsts)
  if (others.length === 0) return only
  // A violation that all candidates share is reported by itself.
  const isCommon = inEach([only, ...others])
  const common = only.filter(isCommon)
  const rest = [only, ...others].map((each) => each.filter((one) => !isCommon(one)))
  if (rest.some((each) => each.length === 0)) return common
  const { branches: found = [], branchMax = Number.POSITIVE_INFINITY } = error.params as Branches
  const text = alternativesText(
    rest,
    found.every((each) => each.length < branchMax),
  )
  return [...common, ...of(`must match one of ${rest.length} alternatives: ${text}`)]
}

function inEach(candidates: readonly Violation[][]): (one: Violation) => boolean {
  const sentences = candidates.map((each) => new Set(each.map(sentence)))
  return (one) => sentences.every((each) => each.has(sentence(one)))
}

function isWrongType({ error: { keyword, data, params } }: Violation): boolean {
  if (keyword === 'exactNumber') return typeof data !== 'number' && typeof data !== 'bigint'
  return keyword === 'type' || params.tag === 'no object'
}

// A text may have been meant as any type, so it is of no wrong type.
function isOfText({ error: { keyword, data, params } }: Violation): boolean {
  return typeof data === 'string' && (keyword === 'exactNumber' || params.type === 'boolean')
}

function isNoun(one: Violation): boolean {
  return isWrongType(one) || isOfValues(one) || one.error.keyword === 'format'
}

function isImpossible({ error: { keyword } }: Violation): boolean {
  return keyword === 'false schema'
}

function isOfValues({ error: { keyword } }: Violation): boolean {
  return keyword === 'enum' || keyword === 'const'
}

// Formats come last, because they have examples. Null has no noun, because its text is empty.
function nounsProblem(violations: readonly Violation[], place: string): string {
  const named = violations.filter((one) => one.place === place && isNoun(one))
  const isFormat = ({ error }: Violation) => Number(error.keyword === 'format')
  const sorted = named.toSorted((a, b) => isFormat(a) - isFormat(b))
  const nouns = sorted.map(({ problem }) => problem.replace(/^must be /, '')).filter((noun) => noun !== '')
  return `must be ${[...new Set(nouns)].join(' or ')}`
}

function alternativesText(candidates: readonly Violation[][], areAll: boolean): string {
  const texts = candidates.slice(0, alternativesMax).map((each) => {
    const more = each.length - problemsMax
    return [
      ...each.slice(0, problemsMax).map(sentence),
      ...(more > 0 ? [areAll ? `${more} more` : 'more'] : []),
    ].join(' and ')
  })
  const text = `${texts.join(', or ')}${candidates.length > alternativesMax ? ', or others' : ''}`
  return text.length > alternativesLengthMax ? `${text.slice(0, alternativesLengthMax)}…` : text
}

function unknown(part: string, { instancePath }: ErrorObject): string {
  return part === 'body' || instancePath !== '' ? 'is not a known field' : 'is not a known parameter'
}

type Params = ErrorObject['params']

const problems: Readonly<Record<string, (params: Params, schema: Params) => string>> = {
  type: ({ type }) => `must be ${[type].flat().map(withArticle).join(' or ')}`,
  enum: ({ allowedValues }) => oneOf(allowedValues),
  oneOf: ofAlternatives, // where the alternatives were followed, alternatives() writes the message
  anyOf: ofAlternatives,
  'false schema': () => 'must be absent',
  if: ({ failingKeyword }) => `must${failingKeyword === 'then' ? ' not' : ''} match the schema in if`,
  const: ({ allowedValue }) => `must be ${stringify(allowedValue)}`,
  minLength: ({ limit }) => `must have at least ${count(limit, 'character')}`,
  maxLength: ({ limit }) => `must have at most ${count(limit, 'character')}`,
  minItems: ({ limit }) => `must have at least ${count(limit, 'item')}`,
  maxItems: itemsAtMost,
  items: itemsAtMost, // of prefixItems with `items: false`
  unevaluatedItems: itemsAtMost,
  minProperties: ({ limit }) => `must have at least ${count(limit, 'field')}`,
  maxProperties: ({ limit }) => `must have at most ${count(limit, 'field')}`,
  contains: ({ minContains, maxContains }) =>
    `must contain ${range(minContains, maxContains)} matching the schema in contains`,
  uniqueItems: () => 'must not contain the same item twice',
  pattern: ({ pattern }, { 'x-pattern-description': words }) =>
    words === undefined ? `must match the pattern ${pattern}` : `must be ${words}`,
  // A schema negates a pattern twice to keep tools from making values from it.
  not: (_, { pattern, 'x-pattern-description': words }) =>
    pattern === undefined && words !== undefined ? `must be ${words}` : 'must not match the schema in not',
  format: ({ format }) => `must be ${formats[format]?.description}`,
}

function problem({ keyword, params, message, parentSchema = {} }: ErrorObject): string {
  return problems[keyword]?.(params, parentSchema) ?? String(message)
}

function ofAlternatives({ tag }: Params): string {
  return tag === undefined ? 'must match one of its alternatives' : 'must be an object'
}

function itemsAtMost({ limit }: Params): string {
  return `must have at most ${count(limit, 'item')}`
}

// A schema may list thousands of values, and each of a thousand errors may be about them.
const valuesMax = 100
const listed = new WeakMap<readonly unknown[], string>()

function oneOf(values: readonly unknown[]): string {
  const known = listed.get(values)
  if (known !== undefined) return known
  const shown = values.slice(0, valuesMax)
  const texts = shown.map((each) => (typeof each === 'string' && each !== '' ? each : stringify(each)))
  const more = values.length - shown.length
  const text = `must be one of: ${texts.join(', ')}${more > 0 ? ` or ${more} more` : ''}`
  listed.set(values, text)
  return text
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function range(min: number, max: number | undefined): string {
  if (max === undefined) return `at least ${count(min, 'item')}`
  return min === max ? count(max, 'item') : `${min} to ${count(max, 'item')}`
}

function propertyPath(pointer: string): string {
  return tokensOf(pointer).map(property).join('')
}

// The name comes from the client, so it is quoted unless it is plain, and cut.
function property(name: string): string {
  if (/^\d+$/.test(name)) return `[${name}]`
  const shown = name.length > nameLengthMax ? `${name.slice(0, nameLengthMax)}…` : name
  return /^[\w$-]+…?$/.test(shown) ? `.${shown}` : `[${JSON.stringify(shown)}]`
}
