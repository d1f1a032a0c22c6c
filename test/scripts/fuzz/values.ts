// The fuzzer's own values, held to the schemas that they are made of.

import fc from 'fast-check'
import { stringify } from 'lossless-json'
import t from 'tap'
import { compile, type Schema } from '../../../scripts/fuzz/contract.js'
import { invalidValue, type Json, validValue } from '../../../scripts/fuzz/values.js'

const text = { type: 'string', maxLength: 9 }

const schemas: Readonly<Record<string, Schema>> = {
  'a date': { type: 'string', format: 'date' },
  'a date with its time': { type: 'string', format: 'date-time' },
  'a time': { type: 'string', format: 'time' },
  'a UUID': { type: 'string', format: 'uuid' },
  'an address of mail': { type: 'string', format: 'email' },
  'an address of a page': { type: 'string', format: 'uri' },
  'a pattern': { type: 'string', pattern: '^[^a]{1,3}$' },
  'a list': { type: 'array', minItems: 1, items: text },
  'steps of whole numbers': { type: 'integer', format: 'int32', multipleOf: 5 },
  'steps of cents': { type: 'number', minimum: 0, multipleOf: 0.01 },
  'one of two': { oneOf: [{ type: 'integer', format: 'int32' }, text] },
  'all of two': {
    allOf: [
      { type: 'object', required: ['a'], properties: { a: text } },
      { allOf: [{ required: ['b'], properties: { b: { type: 'boolean' } } }] },
    ],
  },
  'text or nothing': { type: ['string', 'null'], maxLength: 9 },
}

for (const [title, schema] of Object.entries(schemas)) {
  t.test(`${title}: what is made is right, and what is to be refused is wrong`, async (t) => {
    const validate = compile(schema)
    const wrongOf = (values: readonly Json[], isWrong: boolean) =>
      values.filter((value) => (validate(JSON.parse(String(stringify(value)))) !== undefined) !== isWrong)
    const options = { numRuns: 200, seed: 1 }
    t.strictSame(wrongOf(fc.sample(validValue(schema), options), false), [])
    const refused = invalidValue(schema)
    t.strictSame(wrongOf(refused ? fc.sample(refused, options) : [], true), [])
  })
}

t.test('a schema of which no value is known is named, and of one that takes all none is wrong', async (t) => {
  for (const odd of [
    { type: 'string', format: 'uuid', maxLength: 3 },
    { type: 'string', pattern: '^(?=a)a+$' },
  ])
    t.throws(() => validValue(odd), { message: `The fuzzer knows no value of ${JSON.stringify(odd)}.` })
  t.equal(invalidValue({}), undefined)
})
