import t from 'tap'
import { createNotice } from '../../src/client/deprecation.js'

const since = { Deprecation: '@1795132800' }
const sunset = { Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT' }
const link = { Link: '</next>; rel="next", </v1/pets>; rel="successor-version"' }

const cases: [title: string, headers: Record<string, string>, message: string][] = [
  ['alone', since, 'x is deprecated since 2026-11-20.'],
  ['with its end', { ...since, ...sunset }, 'x is deprecated since 2026-11-20 and ends on 2030-12-05.'],
  [
    'with its successor',
    { ...since, ...sunset, ...link },
    'x is deprecated since 2026-11-20 and ends on 2030-12-05; use /v1/pets instead.',
  ],
]
for (const [title, headers, message] of cases) {
  t.test(`a deprecation ${title} is told once for each operation`, async (t) => {
    const warnings: string[] = []
    const notice = createNotice((text) => warnings.push(text))
    for (const operation of ['x', 'x', 'y', 'x']) notice(operation, new Headers(headers))
    t.strictSame(warnings, [message, message.replace('x', 'y')])
  })
}

t.test('what is not deprecated is not told of', async (t) => {
  const notice = createNotice(() => t.fail('told'))
  for (const headers of [{}, sunset, { Deprecation: 'true' }]) notice('x', new Headers(headers))
})
