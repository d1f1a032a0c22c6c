import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { compilable, createAjv } from '../../src/compile/schemas/ajv.js'
import type { AnySchema } from '../../src/document/keywords.js'
import { createExplain, everyError, explaining } from '../../src/values/explain.js'
import { describeViolations } from '../../src/values/messages.js'
import { randomValues } from '../fixtures/random-values.js'

const own = { ownProperties: true }

// `$ref`s of the schema are to the target.
function compile(schema: AnySchema, target: AnySchema = true) {
  const ajv = createAjv('check', own)
  ajv.addSchema(compilable(target), 'schema-0')
  const explain = createExplain(ajv, 'check', () => createAjv('check', { ...own, ...everyError }))
  const validate = explaining(ajv.compile(compilable(schema)), explain)
  return { validate, errorsOf: (value: unknown) => explain(validate.schema, value) }
}

t.test('values of random schemas get the verdict of plain Ajv, and are explained if refused', async (t) => {
  let refused = 0
  for (const { schema, target, values } of randomValues(60, 50)) {
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
  t.ok(refused > 800, `${refused} were refused`)
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
