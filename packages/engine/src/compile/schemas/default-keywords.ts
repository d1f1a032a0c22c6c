// The keywords of properties with a default (defaulted.ts).

import { _, type Ajv, type CodeKeywordDefinition } from 'ajv'
import properties from 'ajv/dist/vocabularies/applicator/properties.js'
import type { AnySchema } from '../../document/keywords.js'
import { noteExcuse } from '../../values/changes.js'
import { changedIn, createNote, type Defaulting } from '../../values/defaulted.js'
import { call, make, ofSchema } from './generated-code.js'

/** Makes an Ajv note what defaults are to fill in, and adds the `excused` keyword to it. */
export function addDefaults(ajv: Ajv): void {
  const { code, ...own } = properties.default as CodeKeywordDefinition
  const value: Defaulting = { defaulted: new Set(), compile: (schema) => ajv.compile(schema) }
  const defaulting = { value, code: _`defaulting` }
  ajv.removeKeyword('properties')
  ajv.addKeyword({
    ...own,
    before: 'patternProperties',
    code: (cxt) => {
      const all = ofSchema<Record<string, AnySchema>>(cxt)
      if (changedIn(all.value).length > 0)
        cxt.gen.code(call(cxt, make(cxt, createNote, all, defaulting), cxt.data))
      code(cxt)
    },
  })
  ajv.addKeyword({
    keyword: 'excused',
    type: 'object',
    schemaType: 'array',
    code: (cxt) => void cxt.gen.code(call(cxt, noteExcuse, cxt.data, ofSchema(cxt).code)),
  })
}
