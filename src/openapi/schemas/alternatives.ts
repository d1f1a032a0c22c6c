// Replaces Ajv's `anyOf` and `oneOf`. Only alternatives that a value can match are validated (choices.ts):
// with a discriminator, or a const that tells them apart, one of them, so that a recursive one costs no more
// than its size. Defaults apply only from alternatives that match.

import { _, type Ajv, KeywordCxt, Name, type Options } from 'ajv'
import type { Schema } from '../contract/contract.js'
import { type AnySchema, schemasIn } from '../contract/keywords.js'
import { type Choice, choiceOf } from './choices.js'
import { type Resolve, resolveIn } from './references.js'

/** Adds both keywords to an Ajv. */
export function addAlternatives(ajv: Ajv): void {
  for (const keyword of ['anyOf', 'oneOf']) {
    ajv.removeKeyword(keyword)
    ajv.addKeyword({
      keyword,
      schemaType: 'array',
      trackErrors: true,
      code: (cxt) => {
        const { self, opts } = cxt.it
        const choice = choiceOf(
          cxt.parentSchema as Schema,
          keyword,
          resolveIn(self),
          opts.coerceTypes === true,
        )
        if (choice.isSure) validateChosen(cxt, choice)
        else validateCandidates(cxt, choice)
      },
      error: {
        message:
          keyword === 'anyOf' ? 'must match a schema in anyOf' : 'must match exactly one schema in oneOf',
      },
    })
  }
}

function validateChosen(cxt: KeywordCxt, { candidatesOf }: Choice): void {
  const { gen, data, keyword, schema } = cxt
  const isValid = gen.let('valid', false)
  const chosen = gen.const(
    'chosen',
    _`${functionIn(cxt, (value: unknown) => candidatesOf(value)[0])}(${data})`,
  )
  for (const i of (schema as AnySchema[]).keys()) {
    gen.if(_`${chosen} === ${i}`, () => {
      const ofBranch = gen.name('_valid')
      cxt.mergeEvaluated(cxt.subschema({ keyword, schemaProp: i }, ofBranch), Name)
      gen.assign(isValid, ofBranch)
    })
  }
  gen.if(_`${chosen} === undefined`, () => cxt.error())
  cxt.ok(isValid)
}

function validateCandidates(cxt: KeywordCxt, { candidatesOf }: Choice): void {
  const { gen, data, keyword, schema, it } = cxt
  const resolve = resolveIn(it.self)
  const candidates = gen.const('candidates', _`${functionIn(cxt, candidatesOf)}(${data})`)
  const tally: Tally = { passing: gen.let('passing', 0), match: gen.let('match') }
  for (const [i, each] of (schema as AnySchema[]).entries()) {
    const isChanging = it.opts.useDefaults && !it.compositeRule && changesValues(each, it.opts, resolve)
    const isOpen = keyword === 'oneOf' ? _` && ${tally.passing} < 2` : _``
    gen.if(_`${candidates}.includes(${i})${isOpen}`, () => validateOne(cxt, i, isChanging === true, tally))
  }
  const { passing, match } = tally
  cxt.result(keyword === 'oneOf' ? _`${passing} === 1` : _`${passing} > 0`, () => {
    if (keyword === 'oneOf') gen.if(_`${match} !== undefined`, () => replaceValue(cxt, match))
    cxt.reset()
  })
}

type Tally = Readonly<Record<'passing' | 'match', Name>>

// An alternative that may change the value validates a copy, and all of it: at its first error, Ajv would
// leave the function.
function validateOne(cxt: KeywordCxt, i: number, isChanging: boolean, tally: Tally): void {
  const { gen, keyword } = cxt
  const isValid = gen.name('_valid')
  const copy = isChanging ? gen.let('copy') : undefined
  const of = { keyword, schemaProp: i, createErrors: false }
  const inner = copy
    ? contextOfCopy(cxt, copy).subschema({ ...of, data: copy, dataTypes: [], allErrors: true }, isValid)
    : cxt.subschema({ ...of, compositeRule: true }, isValid)
  gen.if(isValid, () => {
    gen.code(_`${tally.passing}++`)
    cxt.mergeEvaluated(inner, Name)
    if (copy) gen.assign(tally.match, copy)
    if (copy && keyword === 'anyOf') replaceValue(cxt, copy)
  })
}

// Ajv's modifying keywords assign to the parent of a value, so the copy gets a parent: its holder.
function contextOfCopy(cxt: KeywordCxt, copy: Name): KeywordCxt {
  const { gen, data, it, def, keyword } = cxt
  const holder = gen.const('holder', _`{value: ${functionIn(cxt, structuredClone)}(${data})}`)
  gen.assign(copy, _`${holder}.value`)
  return new KeywordCxt({ ...it, data: holder, parentDataProperty: _`"value"` }, def, keyword)
}

// Whether validating a schema may change the value: by defaults, exact numbers or coercion. Each such
// alternative gets a copy, and the one that matches replaces the value, so that an alternative that fails
// leaves no changes. Ajv itself ignores defaults in alternatives.
function changesValues(schema: AnySchema, options: Options, resolve: Resolve): boolean {
  const reached = new Set([schema]) // a Set iterates over what is added meanwhile, too
  for (const one of reached) {
    for (const each of schemasIn(one)) {
      const isCoerced = options.coerceTypes === true && each.type !== undefined
      if (each.default !== undefined || each.exactNumber !== undefined || isCoerced) return true
      if (each.$ref !== undefined) reached.add(resolve(each))
    }
  }
  return false
}

function replaceValue(cxt: KeywordCxt, value: Name): void {
  const { gen, data, it } = cxt
  gen.if(
    _`typeof ${data} == "object" && ${data} !== null`,
    () => gen.code(_`${functionIn(cxt, assignOwn)}(${data}, ${value})`),
    () => {
      gen.assign(data, value)
      gen.if(_`${it.parentData} !== undefined`, () =>
        gen.assign(_`${it.parentData}[${it.parentDataProperty}]`, value),
      )
    },
  )
}

function assignOwn(value: object, copy: object): void {
  Object.defineProperties(value, Object.getOwnPropertyDescriptors(copy))
}

function functionIn({ gen }: KeywordCxt, ref: unknown): Name {
  return gen.scopeValue('func', { ref })
}
