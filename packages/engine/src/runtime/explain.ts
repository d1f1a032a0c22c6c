// Explains why a schema has refused a value: lists an error in Ajv's form for each thing that is wrong. Ajv
// itself could, with `allErrors`, but its page on security advises servers against that: it copies errors at
// each level, and follows each alternative of a recursive schema to its end. Here errors and steps are
// bounded, and of alternatives that a property tells apart only one is followed. Ajv still judges each
// assertion, such as `minLength`; this module finds the schemas that apply to each part of the value.

import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Schema } from '../document/contract.js'
import type { Validator } from '../document/functions.js'
import {
  type AnySchema,
  type ChoiceKeyword,
  choicesOf,
  isNode,
  schemaKeywords,
} from '../document/keywords.js'
import { toRegExp } from '../document/patterns.js'
import { jsonPointer } from '../document/pointer.js'
import { has as hasOwn } from './changes.js'
import { type Choice, choiceOf } from './choices.js'
import { declares, evaluatedLength, evaluatesProperty } from './evaluated.js'
import type { NumberMode } from './exact-numbers.js'
import { describeViolations, shownMax } from './messages.js'
import { compileOnce, once } from './once.js'
import { type Added, resolveIn } from './references.js'
import { isOutOfSteps, isTooComplex, judgeTogether } from './steps.js'

/** How many errors are looked for in one value; messages show the first `shownMax`. */
export const errorsMax = 1000

// How many errors are looked for in an alternative of an alternative: messages show three, and say that there
// are more.
const nestedMax = 4

// A step applies a schema to a part of the value. A body of 64 kB can have 32,000 parts.
const stepsMax = 100_000

/** Options of an Ajv that reports every error, with its schema and value. */
export const everyError = { allErrors: true, verbose: true } as const

/**
 * Returns the errors of a value, and does not change it. Returns none if the value is valid, or if the steps
 * run out before the first error.
 */
export type Explain = (schema: AnySchema, value: unknown) => ErrorObject[]

/**
 * Adds `explain` to a compiled schema. If the steps run out before the first error, `explain` returns the
 * error that the schema itself has found.
 */
export function explaining(validate: ValidateFunction, explain: Explain): Validator {
  return Object.assign(validate, {
    explain: (value: unknown) => {
      const [first] = validate.errors ?? []
      if (first !== undefined && isTooComplex(first)) return [first]
      const errors = explain(validate.schema, value)
      return errors.length > 0 ? errors : (validate.errors ?? []).slice(-1)
    },
  })
}

/** The parts of an Ajv that are used here: the schemas that were added to it, and its keywords. */
export interface Known extends Added {
  readonly RULES: { readonly all: Readonly<Record<string, unknown>> }
}

/** Compiles the assertions of a schema: an Ajv with the same options that reports all errors. */
export interface Assertions {
  compile(schema: Schema): ValidateFunction
}

/** @param ajv the Ajv that has compiled the schemas */
export function createExplain(ajv: Known, mode: NumberMode, createAssertions: () => Assertions): Explain {
  let explainers: Explainers | undefined // created for the first explanation: most services never need them
  return (schema, value) => {
    explainers ??= createExplainers(ajv, mode, createAssertions())
    const limits = { max: errorsMax, told: shownMax, depth: 0 }
    const found: Gathered = {
      errors: [],
      alsoTold: 0,
      ...limits,
      explainers,
      spent: { steps: 0, excuses: 0 },
    }
    try {
      judgeTogether(() => apply(schema, value, '', found))
    } catch (error) {
      if (error !== outOfSteps && !isOutOfSteps(error)) throw error
    }
    return found.errors
  }
}

const outOfSteps = new Error('out of steps')

/** The errors found in a value, or in one alternative for it. */
interface Gathered {
  readonly errors: ErrorObject[]
  readonly max: number
  /**
   * How many errors are told. After those, an error of `anyOf` or `oneOf` only says that no alternative
   * matches, not why.
   */
  readonly told: number
  /** How many further sentences the errors of alternatives add, at places of their own. */
  alsoTold: number
  /** How many alternatives it is within. */
  readonly depth: number
  readonly explainers: Explainers
  /** The steps taken, and how many times a required property was absent but has a default. */
  readonly spent: { steps: number; excuses: number }
}

function isTold({ errors, alsoTold, told }: Gathered): boolean {
  return errors.length + alsoTold < told
}

function isFull({ errors, max }: Gathered): boolean {
  return errors.length >= max
}

/** How to apply a schema. */
interface Explainer {
  /** Returns the errors of the schema's own assertions. */
  readonly errorsOf: ((value: unknown) => readonly ErrorObject[]) | undefined
  readonly applicators: readonly Applicator[]
}

interface Explainers {
  /** True if values are texts, which may be meant to have another type. */
  readonly areTexts: boolean
  of(schema: Schema): Explainer
  targetOf(ref: string): AnySchema
  choiceOf(schema: Schema, keyword: ChoiceKeyword): Choice
}

function createExplainers(ajv: Known, mode: NumberMode, assertions: Assertions): Explainers {
  const resolve = resolveIn(ajv)
  const compile = compileOnce((schema: Schema) => assertions.compile(schema))
  const choice = (keyword: string) => once((schema) => choiceOf(schema, keyword, resolve, mode === 'text'))
  const choices = { anyOf: choice('anyOf'), oneOf: choice('oneOf') }
  return {
    areTexts: mode === 'text',
    of: once((schema) => {
      const own = assertionsOf(schema, ajv)
      const validate = own && compile(own)
      return {
        errorsOf: validate && ((value) => (validate(value) ? [] : (validate.errors ?? []))),
        applicators: applicators.filter(([keyword]) => keyword in schema).map(([, each]) => each),
      }
    }),
    targetOf: (ref) => (ajv.schemas[ref]?.schema as AnySchema | undefined) ?? true,
    choiceOf: (schema, keyword) => choices[keyword](schema),
  }
}

/** Returns the keywords of a schema that judge a value without subschemas; undefined if it has none. */
export function assertionsOf(schema: Schema, { RULES }: Pick<Known, 'RULES'>): Schema | undefined {
  const own = Object.entries(schema).filter(
    ([key]) =>
      key in RULES.all &&
      !schemaKeywords.has(key) &&
      !key.startsWith('$') &&
      !['nullPrototype', 'excused', 'evaluates', 'steps'].includes(key),
  )
  return own.length === 0 ? undefined : Object.fromEntries(own)
}

function apply(schema: AnySchema, value: unknown, at: string, found: Gathered): void {
  if (schema === true || isFull(found)) return
  if (found.spent.steps++ >= stepsMax) throw outOfSteps
  if (schema === false) add(found, { keyword: 'false schema', schema: {}, value, at })
  else applySchema(schema, value, at, found)
}

function applySchema(schema: Schema, value: unknown, at: string, found: Gathered): void {
  const { errorsOf, applicators } = found.explainers.of(schema)
  for (const error of errorsOf?.(value) ?? [])
    found.errors.push({ ...error, instancePath: at, parentSchema: schema })
  for (const each of applicators) {
    if (isFull(found)) return
    each(schema, value, at, found)
  }
}

interface Fault {
  readonly keyword: string
  readonly schema: Schema
  readonly value: unknown
  readonly at: string
  readonly params?: Readonly<Record<string, unknown>>
}

function add({ errors }: Gathered, { keyword, schema, value, at, params = {} }: Fault): void {
  errors.push({ keyword, instancePath: at, schemaPath: '', params, parentSchema: schema, data: value })
}

/** Returns the errors of one alternative or of a property's name, in a list of their own. */
function errorsOf(
  schema: AnySchema,
  value: unknown,
  at: string,
  found: Gathered,
  { max, told = max }: { readonly max: number; readonly told?: number },
): ErrorObject[] {
  const inner: Gathered = { ...found, errors: [], alsoTold: 0, max, told, depth: found.depth + 1 }
  apply(schema, value, at, inner)
  return inner.errors
}

/** Limits for a test: only the presence of an error counts. */
const untold = { max: 1, told: 0 }

function matches(schema: AnySchema, value: unknown, found: Gathered): boolean {
  return errorsOf(schema, value, '', found, untold).length === 0
}

type Applicator = (schema: Schema, value: unknown, at: string, found: Gathered) => void
type Schemas = Readonly<Record<string, AnySchema>>

// In the order in which errors are told.
const applicators: readonly [keyword: string, applicator: Applicator][] = [
  ['$ref', ({ $ref }, value, at, found) => apply(found.explainers.targetOf(String($ref)), value, at, found)],
  [
    'excused',
    ({ excused }, value, _, { spent }) => {
      if (isNode(value) && !(excused as string[]).every((name) => has(value, name))) spent.excuses++
    },
  ],
  ['not', applyNot],
  ['allOf', ({ allOf }, ...on) => (allOf as AnySchema[]).forEach((each) => void apply(each, ...on))],
  ['anyOf', (schema, ...on) => applyAlternatives('anyOf', schema, ...on)],
  ['oneOf', (schema, ...on) => applyAlternatives('oneOf', schema, ...on)],
  ['if', applyBranchOfIf],
  ['dependentSchemas', applyDependents],
  ['prefixItems', applyPrefixItems],
  ['items', applyItems],
  ['contains', applyContains],
  ['unevaluatedItems', applyUnevaluatedItems],
  ['propertyNames', applyPropertyNames],
  ['additionalProperties', applyAdditionalProperties],
  ['properties', applyProperties],
  ['patternProperties', applyPatternProperties],
  ['unevaluatedProperties', applyUnevaluatedProperties],
]

function applyNot(schema: Schema, value: unknown, at: string, found: Gathered): void {
  if (matches(schema.not as AnySchema, value, found)) add(found, { keyword: 'not', schema, value, at })
}

function branchOfIf({ if: condition }: Schema, value: unknown, found: Gathered): 'then' | 'else' {
  return matches(condition as AnySchema, value, found) ? 'then' : 'else'
}

// `must be absent` would be about the whole value, which would be no help.
function applyBranchOfIf(schema: Schema, value: unknown, at: string, found: Gathered): void {
  const failingKeyword = branchOfIf(schema, value, found)
  const branch = (schema[failingKeyword] ?? true) as AnySchema
  if (branch === false) add(found, { keyword: 'if', schema, value, at, params: { failingKeyword } })
  else apply(branch, value, at, found)
}

function applyDependents(schema: Schema, value: unknown, at: string, found: Gathered): void {
  for (const [name, each] of dependents(schema, value))
    apply(each, value, each === false ? placeOf(at, name) : at, found)
}

function dependents({ dependentSchemas }: Schema, value: unknown): [name: string, schema: AnySchema][] {
  const names = isNode(value) ? Object.entries(dependentSchemas as Schemas) : []
  return names.filter(([name]) => has(value, name))
}

function applyAlternatives(
  keyword: ChoiceKeyword,
  schema: Schema,
  value: unknown,
  at: string,
  found: Gathered,
): void {
  const all = schema[keyword] as readonly AnySchema[]
  const named = found.explainers.choiceOf(schema, keyword).namedBy(value)
  if (typeof named === 'number') apply(all[named] ?? true, value, at, found)
  else if (named !== undefined) add(found, { keyword, schema, value, at, params: { ...named } })
  if (named !== undefined) return
  const isPassing = (passing: number) => (keyword === 'anyOf' ? passing > 0 : passing === 1)
  // A shortcut: most items of a long array are valid. Objects and arrays do not take it, because they would
  // be looked at twice.
  if (!isStructure(value) && isPassing(all.filter((each) => matches(each, value, found)).length)) return
  const areTold = isTold(found)
  const branchMax = found.depth === 0 ? shownMax : nestedMax
  const limits = areTold ? { max: branchMax } : untold
  const tried = all.map((each) => tryAlternative(each, value, at, found, limits))
  const matching = tried.filter(({ errors }) => errors.length === 0)
  const unexcused = matching.filter(({ excuses }) => excuses === 0).length
  const passing = unexcused === 0 ? matching.length : unexcused
  if (unexcused === 0 && passing > 0) found.spent.excuses++
  if (isPassing(passing)) return
  const branches = tried.map(({ errors }) => errors)
  const params = { branches, branchMax, passing, isText: found.explainers.areTexts }
  add(found, { keyword, schema, value, at, params: areTold ? params : {} })
  // Deeper down few errors are told anyway, and each level would describe again all that is below it.
  if (areTold && found.depth < 2) found.alsoTold += describeViolations('', found.errors.slice(-1)).length - 1
}

// Counts the excuses of one alternative. As in alternatives.ts, an alternative that needs a default counts
// only if no other matches without one.
function tryAlternative(
  schema: AnySchema,
  value: unknown,
  at: string,
  found: Gathered,
  limits: Parameters<typeof errorsOf>[4],
) {
  const { spent } = found
  const before = spent.excuses
  const errors = errorsOf(schema, value, at, found, limits)
  const excuses = spent.excuses - before
  spent.excuses = before
  return { errors, excuses }
}

function applyPrefixItems({ prefixItems }: Schema, value: unknown, at: string, found: Gathered): void {
  if (!Array.isArray(value)) return
  for (const [i, each] of (prefixItems as AnySchema[]).entries())
    if (i < value.length) apply(each, value[i], `${at}/${i}`, found)
}

function applyItems(schema: Schema, value: unknown, at: string, found: Gathered): void {
  const from = ((schema.prefixItems ?? []) as readonly AnySchema[]).length
  const items = schema.items as AnySchema
  if (!Array.isArray(value) || value.length <= from) return
  if (items === false) add(found, { keyword: 'items', schema, value, at, params: { limit: from } })
  else for (let i = from; i < value.length; i++) apply(items, value[i], `${at}/${i}`, found)
}

function applyContains(schema: Schema, value: unknown, at: string, found: Gathered): void {
  if (!Array.isArray(value)) return
  const { contains, minContains = 1, maxContains } = schema as unknown as Contains
  const count = value.filter((each) => matches(contains, each, found)).length
  if (count < minContains || (maxContains !== undefined && count > maxContains))
    add(found, { keyword: 'contains', schema, value, at, params: { minContains, maxContains } })
}

interface Contains {
  readonly contains: AnySchema
  readonly minContains?: number
  readonly maxContains?: number
}

function applyUnevaluatedItems(schema: Schema, value: unknown, at: string, found: Gathered): void {
  if (!Array.isArray(value)) return
  const { unevaluatedItems, ...others } = schema
  const parts = [...acceptedParts(others, value, found)]
  const limit = Math.max(...parts.map((part) => evaluatedLength(part)))
  const isMatched = (each: unknown) =>
    parts.some(({ contains }) => contains !== undefined && matches(contains as AnySchema, each, found))
  for (let i = limit; i < value.length; i++) {
    if (isMatched(value[i])) continue
    if (unevaluatedItems !== false) apply(unevaluatedItems as AnySchema, value[i], `${at}/${i}`, found)
    else add(found, { keyword: 'unevaluatedItems', schema, value, at, params: { limit } })
  }
}

function applyPropertyNames(schema: Schema, value: unknown, at: string, found: Gathered): void {
  for (const propertyName of namesOf(value)) {
    if (isFull(found)) return
    const [error] = errorsOf(schema.propertyNames as AnySchema, propertyName, at, found, {
      max: 1,
      told: isTold(found) ? 1 : 0,
    })
    if (error !== undefined) found.errors.push({ ...error, propertyName })
  }
}

function applyProperties({ properties }: Schema, value: unknown, at: string, found: Gathered): void {
  for (const [name, each] of Object.entries(properties as Schemas))
    if (has(value, name)) apply(each, value[name], placeOf(at, name), found)
}

function applyPatternProperties(schema: Schema, value: unknown, at: string, found: Gathered): void {
  for (const [regExp, each] of patternsOf(schema))
    for (const name of namesOf(value))
      if (regExp.test(name)) apply(each, memberOf(value, name), placeOf(at, name), found)
}

const patternsOf = once(({ patternProperties }) =>
  Object.entries(patternProperties as Schemas).map(
    ([pattern, each]) => [toRegExp(pattern, 'u'), each] as const,
  ),
)

function applyAdditionalProperties(schema: Schema, value: unknown, at: string, found: Gathered): void {
  const isDeclared = declares(schema)
  const names = namesOf(value).filter((name) => !isDeclared(name))
  applyToOthers('additionalProperties', 'additionalProperty', names, schema, value, at, found)
}

function applyUnevaluatedProperties(schema: Schema, value: unknown, at: string, found: Gathered): void {
  const { unevaluatedProperties: _, ...others } = schema
  const parts = [...acceptedParts(others, value, found)].map(evaluatesProperty)
  const names = namesOf(value).filter((name) => !parts.some((evaluated) => evaluated(name)))
  applyToOthers('unevaluatedProperties', 'unevaluatedProperty', names, schema, value, at, found)
}

function applyToOthers(
  keyword: string,
  param: string,
  names: readonly string[],
  schema: Schema,
  value: unknown,
  at: string,
  found: Gathered,
): void {
  const others = schema[keyword] as AnySchema
  for (const name of names) {
    if (isFull(found)) return
    if (others === false) add(found, { keyword, schema, value, at, params: { [param]: name } })
    else apply(others, memberOf(value, name), placeOf(at, name), found)
  }
}

// Yields a schema and the schemas that it applies to the same value. Of alternatives and conditions, it
// yields those that accept the value.
function* acceptedParts(schema: AnySchema, value: unknown, found: Gathered): Generator<Schema> {
  if (typeof schema !== 'object') return
  yield schema
  const { $ref, allOf = [], if: condition, dependentSchemas } = schema
  const parts = [...(allOf as AnySchema[])]
  if (typeof $ref === 'string') parts.push(found.explainers.targetOf($ref))
  for (const { keyword, alternatives } of choicesOf(schema)) {
    const candidates = found.explainers
      .choiceOf(schema, keyword)
      .candidatesOf(value)
      .map((i) => alternatives[i] ?? true)
    parts.push(...candidates.filter((each) => matches(each, value, found)))
  }
  if (condition !== undefined) {
    if (matches(condition as AnySchema, value, found)) parts.push(condition as AnySchema)
    parts.push((schema[branchOfIf(schema, value, found)] ?? true) as AnySchema)
  }
  if (dependentSchemas !== undefined) parts.push(...dependents(schema, value).map(([, each]) => each))
  for (const each of parts) yield* acceptedParts(each, value, found)
}

function isStructure(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function has(value: unknown, name: string): value is Readonly<Record<string, unknown>> {
  return isNode(value) && hasOwn(value, name)
}

function namesOf(value: unknown): string[] {
  return isNode(value) ? Object.keys(value) : []
}

function memberOf(value: unknown, name: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[name]
}

// Messages show the first 64 characters of a name.
function placeOf(at: string, name: string): string {
  return at + jsonPointer([name.slice(0, 100)])
}
