// Replaces Ajv's `unevaluatedProperties` and `unevaluatedItems` (runtime/evaluated.ts). Ajv (8.20) forgets
// what was evaluated beside `$ref`, if/then/else and alternatives (its issues 2483 and 2559), and counts
// every item beside `contains` as evaluated.

import { _, type Ajv, type KeywordCxt } from 'ajv'
import { not } from 'ajv/dist/compile/codegen/index.js'
import names from 'ajv/dist/compile/names.js'
import { Type } from 'ajv/dist/compile/util.js'
import type { Schema } from '../../document/contract.js'
import { type AnySchema, applied, asksForUnevaluated, mapSchemas } from '../../document/keywords.js'
import {
  createNoteEvaluated,
  createOtherItems,
  createOtherProperties,
  noteMatching,
} from '../../runtime/evaluated.js'
import { defaultOf } from './common-js.js'
import { call, make, ofParent } from './generated-code.js'
import { replaceKeyword } from './replaced-keyword.js'

/** Replaces the keywords of an Ajv, and adds `evaluates`, which `withEvaluations` sets. */
export function addUnevaluated(ajv: Ajv): void {
  ajv.opts.unevaluated = false // turns off Ajv's own bookkeeping
  // `evaluates` runs before all other keywords: a schema sees the notes after its own, which its subschemas
  // made, and not those of the schemas beside it.
  ajv.addKeyword({ keyword: 'evaluates', before: '$dynamicAnchor', code: noteEvaluated })
  replaceKeyword(ajv, 'contains', judgeContains)
  replaceKeyword(ajv, 'unevaluatedProperties', (cxt) =>
    judgeOthers(cxt, Type.Str, createOtherProperties, 'unevaluatedProperty'),
  )
  replaceKeyword(
    ajv,
    'unevaluatedItems',
    (cxt) => judgeOthers(cxt, Type.Num, createOtherItems, 'len'),
    { trackErrors: true }, // as Ajv's `unevaluatedProperties` does
  )
}

function noteEvaluated(cxt: KeywordCxt): void {
  cxt.gen.code(call(cxt, make(cxt, createNoteEvaluated, ofParent(cxt)), cxt.data))
}

function judgeOthers(
  cxt: KeywordCxt,
  dataPropType: Type,
  createOthers: (schema: Schema) => (value: never) => readonly (string | number)[],
  param: string,
): void {
  const { gen, schema, data, it, keyword, errsCount } = cxt
  const others = gen.const('others', call(cxt, make(cxt, createOthers, ofParent(cxt)), data))
  gen.forOf('other', others, (other) => {
    const isValid = gen.name('_valid')
    if (schema === false) cxt.error(false, { [param]: other })
    else cxt.subschema({ keyword, dataProp: other, dataPropType }, isValid)
    if (!it.allErrors) gen.if(schema === false || not(isValid), () => gen.break())
  })
  cxt.ok(_`${errsCount} === ${defaultOf(names).errors}`)
}

// Replaces Ajv's `contains`, which adds the errors of each item to those of the items before it. If a schema
// asks for unevaluated items, every item is judged, because `contains` evaluates all items that match.
function judgeContains(cxt: KeywordCxt): void {
  const { gen, data, parentSchema, keyword } = cxt
  const { minContains: min = 1, maxContains: max, evaluates } = parentSchema
  if (evaluates !== true && min === 0 && max === undefined) return
  const matching = evaluates === true ? gen.const('matching', call(cxt, noteMatching, data)) : undefined
  const count = gen.let('count', 0)
  gen.forRange('i', 0, _`${data}.length`, (i) => {
    const isValid = gen.name('_valid')
    const how = { compositeRule: true, createErrors: false, allErrors: false } as const
    cxt.subschema({ keyword, dataProp: i, dataPropType: Type.Num, ...how }, isValid)
    cxt.reset()
    gen.if(isValid, () => {
      gen.code(_`${count}++`)
      if (matching !== undefined) gen.code(_`${matching}.add(${i})`)
      else gen.if(max === undefined ? _`${count} >= ${min}` : _`${count} > ${max}`, () => gen.break())
    })
  })
  cxt.setParams({ min, max })
  const isBelow = max === undefined ? _`` : _` && ${count} <= ${max}`
  cxt.pass(_`${count} >= ${min}${isBelow}`)
}

/**
 * Returns a schema that notes what it evaluates, wherever it or a schema around it has
 * `unevaluatedProperties` or `unevaluatedItems`.
 */
export function withEvaluations<Each extends AnySchema>(schema: Each, how = applied): Each {
  return mapSchemas(
    schema,
    (each, { isAsked }) => (isAsked || asksForUnevaluated(each) ? noting(each) : each),
    how,
  )
}

// `not` and `if` are wrapped in `anyOf`, because an alternative that fails takes back its notes. An `if`
// without `then` and `else` gets a `then`: otherwise Ajv skips it.
function noting(schema: Schema): Schema {
  const { if: condition, not: excluded, ...others } = schema
  const isAlone = others.then === undefined && others.else === undefined
  return {
    ...schema,
    ...(excluded !== undefined && { not: { anyOf: [excluded] } }),
    ...(condition !== undefined && { if: { anyOf: [condition] } }),
    ...(condition !== undefined && isAlone && Object.fromEntries([['then', { evaluates: true }]])),
    evaluates: true,
  }
}
