import t from 'tap'
import { createAjv } from '../../../src/compile/schemas/ajv.js'
import { everyError } from '../../../src/runtime/explain.js'

// With backtracking, 2^28 steps: 2 s.
const long = `${'a'.repeat(28)}!`

for (const options of [{}, everyError]) {
  const errorsOf = (schema: object, value: unknown) => {
    const validate = createAjv('check', options).compile(schema)
    return validate(value) ? [] : (validate.errors ?? []).map(({ keyword }) => keyword)
  }
  const name = 'allErrors' in options ? 'every error' : 'the first error'
  t.test(`a text beyond its maxLength is not matched, for ${name}`, async (t) => {
    const schema = { type: 'string', pattern: '^(a+)+$', maxLength: 20 }
    const before = process.cpuUsage()
    t.strictSame(errorsOf(schema, long), ['maxLength'])
    t.ok(process.cpuUsage(before).user < 500_000, 'and costs nothing')
    t.strictSame(errorsOf(schema, 'b'), ['pattern'])
    t.strictSame(
      errorsOf({ ...schema, maxLength: 2, pattern: '^..$' }, '\u{1f600}\u{1f600}'),
      [],
      'in characters',
    )
    t.strictSame(errorsOf({ propertyNames: schema }, { [long]: 1 }), ['maxLength', 'propertyNames'])
  })
}

t.test('every error of a text that is short enough is told', async (t) => {
  const validate = createAjv('check', everyError).compile({
    minLength: 2,
    maxLength: 5,
    pattern: '^b',
    format: 'date',
  })
  t.notOk(validate('a'))
  t.strictSame(
    validate.errors?.map(({ keyword }) => keyword),
    ['minLength', 'pattern', 'format'],
  )
})
