import t from 'tap'
import { appliedText, preferencesOf } from '../../src/mock/preferences.js'

const cases: readonly (readonly [
  header: string | undefined,
  example: string | undefined,
  code: number | undefined,
])[] = [
  [undefined, undefined, undefined],
  ['', undefined, undefined],
  ['example=rex', 'rex', undefined],
  ['code=404', undefined, 404],
  ['code=404, example=rex', 'rex', 404],
  ['Code = "404" ; strict, EXAMPLE="two animals"', 'two animals', 404],
  ['example="a, b; c=d"', 'a, b; c=d', undefined],
  ['example="say \\"hi\\""', 'say "hi"', undefined],
  ['example=first, example=second', 'first', undefined],
  ['respond-async, wait=10', undefined, undefined],
  ['code=, example=""', undefined, undefined],
  ['code=teapot', undefined, undefined],
  ['code=4.5', undefined, undefined],
  ['example="open', 'open', undefined],
  ['example="a\\\\", code=404', 'a\\', 404],
]

for (const [header, example, code] of cases) {
  t.test(`Prefer: ${header}`, async (t) => {
    t.strictSame(preferencesOf(header), { example, code })
  })
}

t.test('what was applied is said as it would be preferred', async (t) => {
  t.equal(appliedText({ code: undefined, example: undefined }), '')
  t.equal(appliedText({ code: 404, example: undefined }), 'code=404')
  t.equal(appliedText({ code: 404, example: 'rex' }), 'code=404, example=rex')
  const spaced = appliedText({ code: undefined, example: 'two "animals"' })
  t.equal(spaced, 'example="two \\"animals\\""')
  t.equal(preferencesOf(spaced).example, 'two "animals"')
})
