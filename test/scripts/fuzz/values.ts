// Validates the fuzzer's generated values against their schemas.

import fc from 'fast-check'
import { stringify } from 'lossless-json'
import t from 'tap'
import { compile, type Schema } from '../../../scripts/fuzz/contract.js'
import { invalidValue, type Json, validValue } from '../../../scripts/fuzz/values.js'

const text = { type: 'string', maxLength: 9 }

const schemas: Readonly<Record<string, Schema>> = {
  'a date': { type: 'string', format: 'date' },
  'a date and time': { type: 'string', format: 'date-time' },
  'a time': { type: 'string', format: 'time' },
  'a UUID': { type: 'string', format: 'uuid' },
  'an email address': { type: 'string', format: 'email' },
  'a URI': { type: 'string', format: 'uri' },
  'a pattern': { type: 'string', pattern: '^[^a]{1,3}$' },
  'a list': { type: 'array', minItems: 1, items: text },
  'multiples of an integer': { type: 'integer', format: 'int32', multipleOf: 5 },
  'multiples of a cent': { type: 'number', minimum: 0, multipleOf: 0.01 },
  'one of two': { oneOf: [{ type: 'integer', format: 'int32' }, text] },
  'all of two': {
    allOf: [
      { type: 'object', required: ['a'], properties: { a: text } },
      { allOf: [{ required: ['b'], properties: { b: { type: 'boolean' } } }] },
    ],
  },
  'a nullable string': { type: ['string', 'null'], maxLength: 9 },
}

for (const [title, schema] of Object.entries(schemas)) {
  t.test(`${title}: valid values are valid, and invalid values are invalid`, async (t) => {
    const validate = compile(schema)
    const isValid = (value: Json) => validate(JSON.parse(String(stringify(value)))) === undefined
    const options = { numRuns: 200, seed: 1 }
    t.strictSame(
      fc.sample(validValue(schema), options).filter((value) => !isValid(value)),
      [],
    )
    const invalid = invalidValue(schema)
    t.strictSame(invalid ? fc.sample(invalid, options).filter(isValid) : [], [])
  })
}

t.test('a schema that is not supported is named', async (t) => {
  for (const schema of [
    { type: 'string', format: 'uuid', maxLength: 3 },
    { type: 'string', pattern: '^(?=a)a+$' },
  ])
    t.throws(() => validValue(schema), {
      message: `The fuzzer cannot generate a value of ${JSON.stringify(schema)}.`,
    })
})

t.test('a schema that accepts everything has no invalid value', async (t) => {
  t.equal(invalidValue({}), undefined)
})
