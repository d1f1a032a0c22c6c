// The keyword that counts a step each time a schema is applied to the value (runtime/steps.ts).

import { _, type Ajv, type KeywordCxt } from 'ajv'
import type { Schema } from '../../document/contract.js'
import { type AnySchema, mapSchemas, schemasIn } from '../../document/keywords.js'
import { type Resolve, resolveIn } from '../../runtime/references.js'
import { count, extendSteps, stepsOfNote, takeNames } from '../../runtime/steps.js'
import { call, ofRuntime } from './generated-code.js'

const keyword = 'steps'

/**
 * Returns a function that adds up the steps of a schema, of its subschemas and of all targets of its
 * references, each applied once.
 */
export function stepsOfSchemas(ajv: Ajv): (schema: AnySchema) => number {
  const resolve = resolveIn(ajv)
  return (schema) => {
    const reached = new Set<AnySchema>([schema]) // the loop also visits what is added meanwhile
    let steps = 0
    for (const each of reached) {
      const all = schemasIn(each)
      for (const one of all) steps += stepsAt(one)
      for (const target of targetsOf(all, resolve)) reached.add(target)
    }
    return steps
  }
}

const noting = ['exactNumber', 'evaluates', 'contains', 'properties']

// An upper bound: not each of these keywords makes a note.
function stepsAt(schema: Schema): number {
  return 1 + stepsOfNote * noting.filter((name) => schema[name] !== undefined).length
}

function targetsOf(schemas: readonly Schema[], resolve: Resolve): Schema[] {
  return schemas.filter(({ $ref }) => typeof $ref === 'string').map(resolve)
}

/** Returns a schema that takes a step wherever it, or one within it, is applied. */
export function withSteps<Each extends AnySchema>(schema: Each): Each {
  return mapSchemas(schema, (each) => (Object.keys(each).length === 0 ? each : { ...each, [keyword]: true }))
}

/** Adds the keyword that `withSteps` sets to an Ajv. */
export function addSteps(ajv: Ajv): void {
  ajv.addKeyword({ keyword, schemaType: 'boolean', code: takeStep })
  // Ajv (8.20) runs the keywords of numbers and of strings first, but a pattern must be counted before it
  // runs.
  const { rules } = ajv.RULES
  for (const group of rules) {
    const own = group.rules.find((each) => each.keyword === keyword)
    if (own === undefined) continue
    group.rules.splice(group.rules.indexOf(own), 1)
    rules.unshift({ rules: [own] })
    return
  }
}

const ofTexts = ['pattern', 'format', 'minLength', 'maxLength']
const ofNames = ['patternProperties', 'unevaluatedProperties', 'minProperties', 'maxProperties']

// Counts only the schema's own work: the schemas of items and properties count theirs.
function takeStep(cxt: KeywordCxt): void {
  const { gen, data, parentSchema } = cxt
  const has = (name: string) => parentSchema[name] !== undefined
  const counter = ofRuntime(cxt, count)
  // `stepsOfText` without its 1: the step below counts that.
  if (ofTexts.some(has))
    gen.if(_`typeof ${data} === "string"`, () => gen.code(_`${counter}.left -= ${data}.length >> 5`))
  if (ofNames.some(has)) gen.code(call(cxt, takeNames, data))
  gen.if(_`--${counter}.left < 0`, () => gen.code(call(cxt, extendSteps)))
}
