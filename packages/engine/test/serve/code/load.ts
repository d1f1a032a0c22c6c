// Compares printed validators with those that Ajv compiles within the process: verdicts, errors, and changes
// of the value.

import type { ValidateFunction } from 'ajv'
import { contractWith, done } from 'contract-testing/engine'
import { rounds } from 'contract-testing/nightly'
import { Random, randomSchema, randomValue } from 'contract-testing/random-schemas'
import { stringify } from 'lossless-json'
import t from 'tap'
import { createFunctions } from '../../../src/compile/code/compilers.js'
import type { Schema } from '../../../src/document/contract.js'
import type { Functions } from '../../../src/document/functions.js'
import { type AnySchema, mapSchemas } from '../../../src/document/keywords.js'
import { printedFunctions } from '../../fixtures/printed-code.js'
import { randomValues } from '../../fixtures/random-values.js'

interface Sample {
  readonly schema: AnySchema
  readonly values: readonly unknown[]
}

const target = '#/components/schemas/Target'

// All refer to the target of the first.
const [first, ...others] = randomValues(rounds(150), 25)
const samples: readonly Sample[] = [first, ...others].flatMap((each) => {
  if (each === undefined) return []
  return [
    {
      schema: mapSchemas(each.schema, toTarget, { isCondition: false, isAsked: false }),
      values: each.values,
    },
  ]
})
const { specification } = await contractWith(
  { values: { responses: done } },
  { schemas: { Target: { ...(first?.target as object), description: 'Referred to.' } } },
)
const random = new Random(7)
const more: readonly Sample[] = Array.from({ length: rounds(150) }, () => {
  const schema = randomSchema(random)
  return { schema, values: Array.from({ length: 25 }, () => randomValue(random, schema, {})) }
})

function toTarget(schema: Schema): Schema {
  return schema.$ref === undefined ? schema : { ...schema, $ref: target }
}

const written: readonly Sample[] = [
  {
    schema: {
      type: 'object',
      required: ['id', 'constructor'],
      properties: {
        id: { type: 'integer', format: 'int64', minimum: -9007199254740993n, default: 5 },
        constructor: { type: 'string', default: 'none' },
        list: { type: 'array', items: { $ref: target }, uniqueItems: true, contains: { required: ['a'] } },
        date: { type: 'string', format: 'date', pattern: '^2', maxLength: 10 },
        choice: {
          oneOf: [{ $ref: target }, { type: 'string', const: '__proto__' }, { enum: [{ __proto: 1n }, 2n] }],
        },
      },
      unevaluatedProperties: false,
      patternProperties: { '^x-': { readOnly: true } },
    },
    values: [
      {},
      { id: 9007199254740993n, constructor: 'a', 'x-a': 1 },
      { id: 1, list: [{ a: {} }, { a: {} }], date: '2026-11-27' },
      { id: 1.5, list: [{ a: 1 }, { k: 'x' }], date: '1026-11-27 00', choice: '__proto__', other: true },
      { choice: { k: 'x' } },
      { choice: 2 },
    ],
  },
]

interface Named extends Sample {
  readonly names: readonly string[]
}

/**
 * Returns the input of the printer, and the names of the functions that judge each schema as a request's body
 * and as a response's.
 */
function printable(all: readonly Sample[]) {
  const judges = new Map<string, { readonly how: 'body' | 'responseBody'; readonly schema: AnySchema }>()
  const named = all.map((each, i): Named => {
    judges.set(`body${i}`, { how: 'body', schema: each.schema })
    judges.set(`response${i}`, { how: 'responseBody', schema: each.schema })
    return { ...each, names: [`body${i}`, `response${i}`] }
  })
  return { specification, named: { judges, writers: new Map<string, AnySchema>() }, samples: named }
}

for (const [name, all] of Object.entries({ written, samples, more }))
  t.test(`printed code judges ${name} as the code within the process does`, async (t) => {
    const { named, samples } = printable(all)
    const compiled = createFunctions(specification, named)
    const printed = printedFunctions({ specification, named })
    for (const { schema, values, names } of samples) {
      const of = ({ judge }: Functions) => names.map((each) => outcomesOf(() => judge(each), values))
      if (!t.strictSame(of(printed), of(compiled), String(stringify(schema)))) break
    }
  })

type Made = ValidateFunction & { explain?: (value: unknown) => unknown }

function outcomesOf(make: () => Made, values: readonly unknown[]): unknown {
  let validate: Made
  try {
    validate = make()
  } catch (error) {
    return (error as Error).message
  }
  return values.map((given) => {
    const value = structuredClone(given)
    const isValid = validate(value)
    return { isValid, value, errors: validate.errors, explained: isValid ? [] : validate.explain?.(value) }
  })
}

t.test('code is refused that is of another contract', async (t) => {
  const { judge, writer } = printedFunctions(printable(written))
  const expected = { message: 'the code is that of another contract: compile it again' }
  for (const of of [judge, writer]) t.throws(() => of('body1'), expected)
})

t.test('a schema that does not compile is refused as it is within the process', async (t) => {
  const schema = { type: 'object', properties: { a: { pattern: '(?i)a' } } }
  const { named } = printable([{ schema, values: [] }])
  const printed = printedFunctions({ specification, named })
  for (const { judge } of [createFunctions(specification, named), printed])
    t.throws(() => judge('body0'), { message: /^the pattern \(\?i\)a is not a valid JavaScript/ })
})
