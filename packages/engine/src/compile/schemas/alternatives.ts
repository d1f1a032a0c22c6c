// Replaces Ajv's `anyOf` and `oneOf`. Only alternatives that the value can match are validated (choices.ts).
// If a discriminator, or a const, tells them apart, that is a single one, so a recursive schema costs no more
// than the size of the value. Only alternatives that match apply their defaults.

import { _, type Ajv, type KeywordCxt, type Name } from 'ajv'
import { not } from 'ajv/dist/compile/codegen/index.js'
import type { AnySchema } from '../../document/keywords.js'
import { changesNoted, isUnexcused, undoChanges, undoChangesUntil } from '../../runtime/changes.js'
import { choiceOf } from '../../runtime/choices.js'
import type { NumberMode } from '../../runtime/exact-numbers.js'
import { resolveIn } from '../../runtime/references.js'
import { call, literal, made, ofParent } from './generated-code.js'
import { replaceKeyword, type WriteKeyword } from './replaced-keyword.js'

/** Adds both keywords to an Ajv. */
export function addAlternatives(ajv: Ajv, mode: NumberMode): void {
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const judge: WriteKeyword = (cxt) => {
      const schema = ofParent(cxt)
      const [resolve, isCoerced] = [resolveIn(ajv), mode === 'text']
      const choice = choiceOf(schema.value, keyword, resolve, isCoerced)
      const parts = [schema, literal(keyword), { value: resolve, code: _`resolve` }, literal(isCoerced)]
      const candidatesOf = made(cxt, choice.candidatesOf, choiceOf, parts, _`.candidatesOf`)
      if (choice.isSure) validateChosen(cxt, candidatesOf)
      else validateCandidates(cxt, candidatesOf)
    }
    const message =
      keyword === 'anyOf' ? 'must match a schema in anyOf' : 'must match exactly one schema in oneOf'
    replaceKeyword(ajv, keyword, judge, { error: { message } })
  }
}

function validateChosen(cxt: KeywordCxt, candidatesOf: Name): void {
  const { gen, data, keyword, schema } = cxt
  const isValid = gen.let('valid', false)
  const start = gen.const('start', call(cxt, changesNoted))
  const chosen = gen.const('chosen', _`${call(cxt, candidatesOf, data)}[0]`)
  for (const i of (schema as AnySchema[]).keys()) {
    gen.if(_`${chosen} === ${i}`, () => {
      const ofBranch = gen.name('_valid')
      cxt.subschema({ keyword, schemaProp: i }, ofBranch)
      gen.assign(isValid, ofBranch)
    })
  }
  gen.if(not(isValid), () => gen.code(call(cxt, undoChanges, start))) // this schema may be within a condition
  gen.if(_`${chosen} === undefined`, () => cxt.error())
  cxt.ok(isValid)
}

// An alternative that matches only thanks to the default of a required property counts if no other matches
// without one.
function validateCandidates(cxt: KeywordCxt, candidatesOf: Name): void {
  const { gen, data, keyword, schema } = cxt
  const candidates = gen.const('candidates', call(cxt, candidatesOf, data))
  const passing = gen.let('passing', 0)
  const excused = gen.let('excused', 0)
  const tally: Tally = { passing, excused, first: gen.const('first', call(cxt, changesNoted)) }
  const isOpen = keyword === 'oneOf' ? _`${passing} < 2` : _`true`
  const next = gen.let('next', 0) // the candidates are in ascending order
  for (const i of (schema as AnySchema[]).keys())
    gen.if(_`${candidates}[${next}] === ${i}`, () => {
      gen.code(_`${next}++`)
      gen.if(isOpen, () => validateOne(cxt, i, tally))
    })
  gen.if(_`${passing} === 0`, () => gen.assign(passing, excused))
  cxt.result(keyword === 'oneOf' ? _`${passing} === 1` : _`${passing} > 0`)
}

interface Tally {
  /** How many alternatives match the value as sent; `excused`: how many only by a default. */
  readonly passing: Name
  readonly excused: Name
  /** The length of the list of changes before the first alternative. */
  readonly first: Name
}

function validateOne(cxt: KeywordCxt, i: number, { passing, excused, first }: Tally): void {
  const { gen, keyword } = cxt
  const isValid = gen.name('_valid')
  const start = gen.const('start', call(cxt, changesNoted))
  cxt.subschema({ keyword, schemaProp: i, createErrors: false, compositeRule: true }, isValid)
  cxt.reset() // drop its errors: Ajv would copy them for each reference among the other alternatives
  gen.if(not(isValid)).code(call(cxt, undoChanges, start))
  gen.elseIf(call(cxt, isUnexcused, start))
  gen.if(_`${passing} === 0 && ${excused} > 0`, () => gen.code(call(cxt, undoChangesUntil, first, start)))
  gen.code(_`${passing}++`)
  gen.else()
  gen.if(_`${passing} > 0`, () => gen.code(call(cxt, undoChanges, start)))
  gen.code(_`${excused}++`)
  gen.endIf()
}
