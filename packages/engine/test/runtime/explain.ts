import type { ErrorObject } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { rounds } from 'contract-testing/nightly'
import t from 'tap'
import { compilable, createAjv } from '../../src/compile/schemas/ajv.js'
import type { AnySchema } from '../../src/document/keywords.js'
import { createExplain, everyError, explaining } from '../../src/runtime/explain.js'
import { describeViolations } from '../../src/runtime/messages.js'
import { randomValues } from '../fixtures/random-values.js'

const own = { ownProperties: true }

// The schema's `$ref`s refer to the target.
function compile(schema: AnySchema, target: AnySchema = true) {
  const ajv = createAjv('check', own)
  ajv.addSchema(compilable(target), 'schema-0')
  const explain = createExplain(ajv, 'check', () => createAjv('check', { ...own, ...everyError }))
  const validate = explaining(ajv.compile(compilable(schema)), explain)
  return { validate, errorsOf: (value: unknown) => explain(validate.schema, value) }
}

t.test('values of random schemas get the verdict of plain Ajv, and are explained if refused', async (t) => {
  let refused = 0
  for (const { schema, target, values } of randomValues(rounds(60), 50)) {
    const plain = new Ajv2020({ strict: false, logger: false }).addSchema(target, 'schema-0').compile(schema)
    const { validate, errorsOf } = compile(schema, target)
    for (const value of values) {
      const isValid = plain(value)
      const errors = errorsOf(value)
      const isRight = validate(value) === isValid && (errors.length === 0) === isValid
      if (!isRight) t.strictSame({ schema, target, value, errors }, isValid)
      if (!isValid && describeViolations('body', errors).length > 0) refused++
    }
  }
  t.ok(refused > rounds(800), `${refused} were refused`)
})

t.test(
  'if the steps end before the first error, the first that the schema itself found is told',
  async (t) => {
    const doubled = { properties: { a: { $ref: 'schema-0' } } }
    const { validate, errorsOf } = compile(
      { $ref: 'schema-0' },
      { anyOf: [doubled, doubled], type: ['object', 'string'], properties: { is: { type: 'string' } } },
    )
    const nested = (depth: number, leaf: unknown) =>
      Array.from({ length: depth }).reduce<unknown>((a) => ({ a }), leaf)
    t.notOk(validate(nested(12, 1)))
    t.strictSame(errorsOf(nested(20, 1)), [])
    t.strictSame(describeViolations('body', validate.explain(nested(20, 1))), [
      'body must match one of its alternatives',
    ])
  },
)

// Alternatives for many items, each of which is wrong in every alternative.
const parts = Array.from({ length: 12 }, (_, i) => ({
  type: 'object',
  required: [`r${i}`],
  properties: { v: { type: 'array', items: { type: 'string' } } },
}))
const texts = parts.map((_, i) => ({ type: 'string', pattern: `^${i}`, maxLength: 3 }))
const item = { v: [1, 2, 3] }
const costly: [title: string, items: AnySchema, item: unknown][] = [
  ['anyOf', { anyOf: parts }, item],
  ['oneOf', { oneOf: parts }, item],
  ['anyOf in anyOf', { anyOf: [{ anyOf: parts }, { oneOf: parts }, { allOf: [{ anyOf: parts }] }] }, item],
  [
    'anyOf in items of anyOf',
    { anyOf: parts.map(() => ({ items: { anyOf: parts } })) },
    Array(50).fill(item),
  ],
  ['many wrong parts of an item', { anyOf: parts }, { v: Array(300).fill(1) }],
  ['anyOf of texts', { anyOf: texts }, 'xxxx'],
  ['else', { if: { required: ['a'] }, else: { anyOf: parts } }, item],
  ['a condition', { if: { anyOf: parts }, else: { required: ['z'] } }, item],
  ['not', { not: { not: { anyOf: parts } } }, item],
  ['contains', { properties: { v: { contains: { anyOf: texts } } } }, item],
  ['dependentSchemas', { dependentSchemas: { v: { anyOf: parts } } }, item],
  ['propertyNames', { propertyNames: { anyOf: texts } }, { xxxx: 1, yyyy: 1 }],
  ['unevaluatedProperties', { anyOf: [{ anyOf: parts }], unevaluatedProperties: false }, item],
]

function countOf(errors: readonly ErrorObject[]): number {
  const branches = errors.flatMap(({ params }) => (params.branches ?? []) as ErrorObject[][])
  return errors.length + (branches.length > 0 ? countOf(branches.flat()) : 0)
}

for (const [title, items, value] of costly)
  t.test(`errors that are not told are not made: ${title}`, async (t) => {
    const { errorsOf } = compile({ type: 'array', items })
    const [all, few] = [errorsOf(Array(1_100).fill(value)), errorsOf(Array(30).fill(value))]
    t.ok(all.length > 500, `${all.length} are counted`)
    t.ok(countOf(all) < 5_000, `${countOf(all)} are made`)
    const first = (errors: readonly ErrorObject[]) => describeViolations('body', errors).slice(0, 20)
    t.strictSame(first(all), first(few))
    t.notMatch(first(all).join(), 'one of its alternatives')
  })

t.test('an alternative with more errors than are looked for says so', async (t) => {
  const { errorsOf } = compile({
    anyOf: ['string', 'boolean'].map((type) => ({ items: { type } })),
  })
  const told = describeViolations('body', errorsOf(Array(50).fill(1)))
  const start = (noun: string) => [0, 1, 2].map((i) => `body[${i}] must be a ${noun}`).join(' and ')
  t.strictSame(told, [
    `body must match one of 2 alternatives: ${start('string')} and more, or ${start('boolean')} and more`,
  ])
})
