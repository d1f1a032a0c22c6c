// Ajv's keywords for properties with a default (runtime/defaulted.ts).

import { _, type Ajv } from 'ajv'
import type { Schema } from '../../document/contract.js'
import { type AnySchema, extendedBy, mapSubschemas } from '../../document/keywords.js'
import { noteExcuse } from '../../runtime/changes.js'
import { changedIn, createNote, type Defaulting } from '../../runtime/defaulted.js'
import type { Resolve } from '../../runtime/references.js'
import { call, make, ofSchema } from './generated-code.js'
import { replaceKeyword, type WriteKeyword } from './replaced-keyword.js'

/** Makes an Ajv note the defaults to fill in, and adds the `excused` keyword to it. */
export function addDefaults(ajv: Ajv): void {
  const value: Defaulting = { defaulted: new Set(), compile: (schema) => ajv.compile(schema) }
  const defaulting = { value, code: _`defaulting` }
  const note: WriteKeyword = (cxt, own) => {
    const all = ofSchema<Record<string, AnySchema>>(cxt)
    if (changedIn(all.value).length > 0)
      cxt.gen.code(call(cxt, make(cxt, createNote, all, defaulting), cxt.data))
    own()
  }
  replaceKeyword(ajv, 'properties', note, { before: 'patternProperties' })
  ajv.addKeyword({
    keyword: 'excused',
    type: 'object',
    schemaType: 'array',
    code: (cxt) => void cxt.gen.code(call(cxt, noteExcuse, cxt.data, ofSchema(cxt).code)),
  })
}

/**
 * Returns the schema with every required property that has a default moved from `required` to `excused`, at
 * any depth. The default may be in the same schema or in its `allOf`.
 */
export function withExcuses<Each extends AnySchema>(schema: Each, resolve: Resolve): Each
export function withExcuses(schema: AnySchema, resolve: Resolve): AnySchema {
  return typeof schema === 'object' ? excusing(schema, new Set(), resolve) : schema
}

function excusing(schema: Schema, around: ReadonlySet<string>, resolve: Resolve): Schema {
  const names = new Set([...around, ...defaultedNames(schema, resolve)])
  const inner = mapSubschemas(schema, ({ keyword, schema: each }) => {
    if (keyword !== 'allOf') return excusing(each, new Set(), resolve)
    const isExcused = [...extendedBy(each, resolve)].some((part) =>
      requiredIn(part).some((name) => names.has(name)),
    )
    return isExcused ? excusing(resolve(each), names, resolve) : excusing(each, new Set(), resolve)
  })
  const required = requiredIn(schema)
  const excused = required.filter((name) => names.has(name))
  if (excused.length === 0) return inner
  return { ...inner, required: required.filter((name) => !names.has(name)), excused }
}

function requiredIn({ required }: Schema): readonly string[] {
  return Array.isArray(required) ? required : []
}

function defaultedNames(schema: Schema, resolve: Resolve): string[] {
  const parts = [...extendedBy(schema, resolve)]
  const all = parts.flatMap((part) => Object.entries((part.properties ?? {}) as Record<string, AnySchema>))
  return all
    .filter(([, each]) => typeof each === 'object' && resolve(each).default !== undefined)
    .map(([name]) => name)
}
