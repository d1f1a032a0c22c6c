// Compares schemas with their variants and conditions; members.ts compares properties and items.
//
// Two normalised schemas are compared keyword by keyword, and choices of variants by the values that they
// accept. In doubt, a change is breaking: a false alarm is easily recognised, a missed change is not.

import { claim, report, type Spot, trialOf } from './comparison.js'
import { compareDeprecated } from './deprecation.js'
import { areExclusive, areSelected } from './exclusive.js'
import { compareDefault, compareKeywords } from './keywords.js'
import { compareArray, compareObject, isUnevaluatingAround } from './members.js'
import { eachName, isNode, keysOf, type Node, nodesOf, type Pair, toJson } from './node.js'
import { child, inside, isInTrail, resolve, same } from './references.js'
import { type Effect, reportEffect } from './rules.js'
import { acceptsAnything, assertionsOf, keywordTypes, simplify, typesOf } from './simplify.js'
import { acceptsValue, valuesOf } from './values.js'

/** Reports the changes of a schema. */
export function compareSchemas(schema: Spot): void {
  const { comparison, before, after, trail } = schema
  const unchanged = comparison.unchanged[schema.direction]
  if (before === after || unchanged.get(before)?.has(after)) return
  if (isInTrail(trail, schema)) {
    comparison.recursive.push(schema)
    return
  }
  const known = comparison.found.length + comparison.recursive.length
  compareSchema({ ...schema, trail: [...trail, schema] })
  // A pair that was compared completely and has no difference need not be compared again.
  if (comparison.found.length + comparison.recursive.length > known) return
  unchanged.set(before, (unchanged.get(before) ?? new WeakSet()).add(after))
}

function compareSchema(schema: Spot): void {
  if (compareImpossible(schema) || compareListed(schema) || compareChoice(schema)) return
  compareKeywords(schema)
  compareDeprecated(schema)
  if (mayBothBe(schema, 'object')) compareObject(schema, compareSchemas)
  if (mayBothBe(schema, 'array')) compareArray(schema, compareSchemas)
  compareConditions(schema)
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) compareVariants(schema, keyword)
}

// True if both schemas accept values of a type. If not, the change of type is reported instead.
function mayBothBe(schema: Spot, type: string): boolean {
  if ([schema.before, schema.after].every((each) => typesOf(each).includes(type))) return true
  claim(schema, ...[...keywordTypes].flatMap(([keyword, about]) => (about === type ? keyword : [])))
  return false
}

// True for the schema `false`, in any of its forms.
function isImpossible({ not }: Node): boolean {
  return not === true || (isNode(not) && acceptsAnything(not))
}

function compareImpossible(schema: Spot): boolean {
  const [was, is] = [isImpossible(schema.before), isImpossible(schema.after)]
  if (was === is) return false
  const keys = Object.keys({ ...schema.before, ...schema.after })
  if (is) reportEffect(schema, ['narrows'], 'no value is accepted', ...keys)
  else reportEffect(schema, ['widens'], 'values are accepted', ...keys)
  return true
}

// Compares a list of values with other rules that it replaces, or the reverse. Each value shows if the rules
// accept it.
function compareListed(schema: Spot): boolean {
  const { before, after, direction } = schema
  const [listing, ruling] = direction === 'request' ? [before, after] : [after, before]
  const values = valuesOf(listing)
  if (values === undefined || (listing.enum === undefined) === (ruling.enum === undefined)) return false
  if (!values.every((value) => acceptsValue(ruling, value))) return false
  compareDefault(schema)
  compareDeprecated(schema)
  const shown = [before.enum ?? after.enum].flat().map(toJson).join(', ')
  const what = `enum ${shown} ${before.enum === undefined ? 'added' : 'removed'}`
  report(schema, 'minor', what, ...keysOf(assertionsOf(before)), ...keysOf(assertionsOf(after)))
  return true
}

// Compares schemas that apply to the same value under a condition.
function compareConditions(schema: Spot): void {
  const { comparison, before, after } = schema
  const keys = ['then', 'else']
  if (!same(comparison, before.if, after.if))
    reportEffect(schema, ['narrows', 'widens'], 'keyword "if" changed', 'if', ...keys)
  else if (before.if === undefined)
    claim(schema, ...keys) // which have no effect without `if`
  else for (const key of keys) compareSchemas(applied(schema, before[key], after[key], key))
  eachName(keysOf(before.dependentSchemas), keysOf(after.dependentSchemas), {
    removed: (name) => compareDependent(schema, name),
    added: (name) => compareDependent(schema, name),
    kept: (name) => compareDependent(schema, name),
  })
}

function compareDependent(schema: Spot, name: string): void {
  const { before, after } = child(schema, 'dependentSchemas')
  const where = `dependentSchemas ${name}`
  compareSchemas(applied(schema, before[name], after[name], where))
}

function compareVariants(schema: Spot, keyword: string): void {
  const [was, is] = [nodesOf(schema.before[keyword]), nodesOf(schema.after[keyword])]
  // An added list narrows, whatever its variants are.
  if (was.length === 0 && is.length > 0) reportEffect(schema, ['narrows'], `${keyword} added`, keyword)
  else if (was.length > 0 && is.length === 0)
    reportEffect(schema, removalOf(schema), `${keyword} removed`, keyword)
  else compareLists(schema, keyword, was, is)
}

// Without the list, `unevaluatedProperties` refuses properties that only its members described.
function removalOf(schema: Spot): readonly Effect[] {
  return isUnevaluatingAround(schema) ? ['widens', 'narrows'] : ['widens']
}

function compareLists(schema: Spot, keyword: string, was: readonly Node[], is: readonly Node[]): void {
  const { kept, removed, added } = matched(schema, was, is)
  const isChoice = keyword !== 'allOf'
  const [onRemoved, onAdded] = isChoice
    ? ([['narrows'], ['widens']] as const)
    : ([removalOf(schema), ['narrows']] as const)
  const known = schema.comparison.found.length
  for (const variant of kept) compareKept(schema, keyword, variant, was, is)
  for (const node of removed) {
    const effects = isChoice && isCovered(schema, node, is) ? [] : onRemoved
    reportEffect(schema, effects, `${keyword} ${nameOf(node, was)} removed`, keyword)
  }
  for (const node of added) {
    const effects = isChoice && isWithin(schema, node, was) ? [] : onAdded
    reportEffect(schema, effects, `${keyword} ${nameOf(node, is)} added`, keyword)
  }
  if (keyword === 'oneOf' && schema.comparison.found.length > known) compareOverlap(schema, was, is)
}

// In an `anyOf`, a change is not breaking if another variant accepts, or accepted, the same values.
function compareKept(
  schema: Spot,
  keyword: string,
  variant: Spot,
  was: readonly Node[],
  is: readonly Node[],
): void {
  const { found } = schema.comparison
  const known = found.length
  compareSchemas(variant)
  const isBreaking = found.slice(known).some(({ change }) => change.bump === 'major')
  if (!isBreaking || keyword !== 'anyOf' || isUnevaluatingAround(schema)) return
  const isHarmless =
    schema.direction === 'request'
      ? isCovered(schema, variant.before, is)
      : isWithin(schema, variant.after, was)
  if (!isHarmless) return
  const milder = found
    .splice(known)
    .map((each) => ({ ...each, change: { ...each.change, bump: 'minor' as const } }))
  found.push(...milder)
}

// `oneOf` refuses a value that two variants accept. A variant that becomes wider, or is added, may make it
// refuse what another variant accepts alone. A variant that becomes narrower may let it accept what it
// refused.
function compareOverlap(schema: Spot, was: readonly Node[], is: readonly Node[]): void {
  const areTold = (side: keyof Pair, variants: readonly Node[]) =>
    areSelected(schema[side], variants) || areExclusive(resolved(schema, side, variants))
  if (!areTold('after', is)) reportEffect(schema, ['narrows'], 'variants of oneOf may overlap', 'oneOf')
  else if (!areTold('before', was)) reportEffect(schema, ['widens'], 'variants of oneOf overlapped', 'oneOf')
}

// Returns the spot of two schemas that apply to the same value.
function applied(schema: Spot, before: unknown, after: unknown, name: string): Spot {
  const spot = inside(schema, before, after, `${schema.where}(${name})`)
  return { ...spot, around: [...schema.around, schema] }
}

interface Matches {
  readonly kept: readonly Spot[]
  readonly removed: readonly Node[]
  readonly added: readonly Node[]
}

// Matches variants by `$ref`, then by equality; inline ones then by order.
export function matched(schema: Spot, was: readonly Node[], is: readonly Node[]): Matches {
  const kept: Spot[] = []
  const [removed, added] = [[...was], [...is]]
  const match = (isMatch: (before: Node, after: Node) => boolean) => {
    for (const node of [...removed]) {
      const other = added.find((one) => isMatch(node, one))
      if (other === undefined) continue
      removed.splice(removed.indexOf(node), 1)
      added.splice(added.indexOf(other), 1)
      kept.push(applied(schema, node, other, nameOf(node, was)))
    }
  }
  match((node, other) => node.$ref !== undefined && node.$ref === other.$ref)
  match((node, other) => same(schema.comparison, node, other))
  match((node, other) => node.$ref === undefined && other.$ref === undefined)
  return { kept, removed, added }
}

function nameOf(node: Node, list: readonly Node[]): string {
  return node.$ref === undefined
    ? String(list.indexOf(node) + 1)
    : String(String(node.$ref).split('/').at(-1))
}

// Compares a schema with a choice (`anyOf`, `oneOf`) that replaced it, the reverse, or two kinds of choice.
function compareChoice(schema: Spot): boolean {
  const [before, after] = [choiceOf(schema.before), choiceOf(schema.after)]
  if (before?.keyword === after?.keyword) return false
  // A choice beside other keywords narrows; `compareVariants` reports it.
  if ([before, after].some((choice) => choice && !choice.isAlone)) return false
  const was = before ? resolved(schema, 'before', before.variants) : [assertionsOf(schema.before)]
  const is = after ? resolved(schema, 'after', after.variants) : [assertionsOf(schema.after)]
  const isMinor =
    schema.direction === 'request'
      ? was.flatMap(byType).every((node) => isCovered(schema, node, is)) &&
        !mayOverlap(schema, 'after', after)
      : is.flatMap(byType).every((node) => isWithin(schema, node, was)) &&
        !mayOverlap(schema, 'before', before)
  compareDefault(schema)
  compareDeprecated(schema)
  const what = [before?.keyword, after?.keyword].filter(Boolean).join(' -> ')
  const change = before && after ? what : `${what} ${after ? 'added' : 'removed'}`
  const keys = Object.keys({ ...schema.before, ...schema.after })
  report(schema, isMinor ? 'minor' : 'major', change, ...keys)
  return true
}

// Returns a schema for each type of a schema, because a choice may list the types as variants.
function byType(schema: Node): readonly Node[] {
  if (!Array.isArray(schema.type)) return [schema]
  return schema.type.map((type) => simplify({ ...schema, type }, () => undefined))
}

interface Choice {
  readonly keyword: string
  readonly variants: readonly Node[]
  /** True if the schema has no other constraints. */
  readonly isAlone: boolean
}

function choiceOf(schema: Node): Choice | undefined {
  const keyword = ['anyOf', 'oneOf'].find((keyword) => Array.isArray(schema[keyword]))
  if (keyword === undefined) return undefined
  const { [keyword]: list, discriminator, ...others } = schema
  return { keyword, variants: nodesOf(list), isAlone: acceptsAnything(others) }
}

// `oneOf` rejects a value that two variants accept.
function mayOverlap(schema: Spot, side: keyof Pair, choice: Choice | undefined): boolean {
  if (choice?.keyword !== 'oneOf' || areSelected(schema[side], choice.variants)) return false
  return !areExclusive(resolved(schema, side, choice.variants))
}

function resolved({ comparison }: Spot, side: keyof Pair, schemas: readonly Node[]): Node[] {
  return schemas.map((node) => resolve(comparison, comparison.documents[side], node))
}

// True if one of the new schemas accepts all that the old schema accepted.
function isCovered(schema: Spot, before: Node, after: readonly Node[]): boolean {
  return after.some((node) => isCompatible({ ...inside(schema, before, node), direction: 'request' }))
}

// True if one of the old schemas accepted all that the new schema accepts.
function isWithin(schema: Spot, after: Node, before: readonly Node[]): boolean {
  return before.some((node) => isCompatible({ ...inside(schema, node, after), direction: 'response' }))
}

function isCompatible(schema: Spot): boolean {
  const trial = trialOf(schema)
  compareSchemas(trial)
  return trial.comparison.found.every(({ change }) => change.bump !== 'major')
}
