import t from 'tap'
import { createDeprecationWarner } from '../src/deprecation.js'

const since = { Deprecation: '@1795132800' }
const sunset = { Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT' }
const link = { Link: '</next>; rel="next", </v1/pets>; rel="successor-version"' }

const cases: [title: string, headers: Record<string, string>, message: string, successor?: string][] = [
  ['without a sunset', since, 'x has been deprecated since 2026-11-20.'],
  [
    'with a successor of the contract',
    { ...since, ...link },
    'x has been deprecated since 2026-11-20; use listPets instead.',
    'listPets',
  ],
  [
    'with a sunset',
    { ...since, ...sunset },
    'x has been deprecated since 2026-11-20 and will be removed on 2030-12-05.',
  ],
  [
    'with a sunset and a successor',
    { ...since, ...sunset, ...link },
    'x has been deprecated since 2026-11-20 and will be removed on 2030-12-05; use /v1/pets instead.',
  ],
]
for (const [title, headers, message, successor] of cases) {
  t.test(`a deprecation ${title} is reported once per operation`, async (t) => {
    const warnings: string[] = []
    const warnIfDeprecated = createDeprecationWarner((text) => warnings.push(text))
    for (const id of ['x', 'x', 'y', 'x'])
      warnIfDeprecated({ id, ...(successor && { successor }) }, new Headers(headers))
    t.strictSame(warnings, [message, message.replace('x', 'y')])
  })
}

t.test('an operation without a valid Deprecation header is not reported', async (t) => {
  const warnIfDeprecated = createDeprecationWarner(() => t.fail('it warned'))
  for (const headers of [{}, sunset, { Deprecation: 'true' }])
    warnIfDeprecated({ id: 'x' }, new Headers(headers))
})
