import t from 'tap'
import { createAjv } from '../../src/compile/schemas/ajv.js'
import { formats } from '../../src/runtime/formats.js'

const nines = '9'.repeat(64)

// test/database/driver/values.ts tests which dates and times PostgreSQL accepts.
const cases: Record<string, { readonly taken: string[]; readonly refused: string[] }> = {
  date: {
    taken: ['2024-02-29', '0001-01-01', '9999-12-31'],
    refused: ['2026-02-29', '0000-01-01', '2026-1-01', '2026-11-25\n', ' 2026-11-25', '٢026-11-25'],
  },
  'date-time': {
    taken: [
      ...['2026-11-24T16:20:20Z', '2026-11-24t16:20:20z', `2026-11-24T16:20:59.${nines}+15:59`],
      ...['2016-12-31T23:59:60Z', '1998-12-31T15:59:60.123-08:00', '9999-12-31T23:59:59.999999Z'],
      ...['0001-01-01T00:00:00Z', '0001-01-01T00:00:00-15:59', '9999-12-31T23:59:59+15:59'],
    ],
    refused: [
      ...['\n', '\t', '\u2028', '\u00a0', ' ', '_', ''].map((each) => `2026-11-24${each}16:20:20Z`),
      ...['', '+01', '+0100', '+1:00', '+16:00', '-23:59', '+01:60', ' Z', 'Z\n', '+01:00:00'].map(
        (each) => `2026-11-24T16:20:20${each}`,
      ),
      ...['2026-11-24T24:00:00Z', '2026-11-24T16:20Z', '2026-11-24T16:20:20.Z', '2026-11-24T16:20:20,5Z'],
      ...[
        '2016-12-31T22:59:60Z',
        '2016-12-31T24:59:60+01:00',
        '2016-12-31T23:59:60.5Z',
        '2026-02-29T00:00:00Z',
      ],
      // Outside the years 1 to 9999 in UTC.
      ...['0001-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01', '9999-12-31T23:59:60Z'],
      ...['9999-12-31T23:59:59.9999999Z', '0000-12-31T23:59:59-01:00', `2026-11-24T16:20:20.${nines}9Z`],
    ],
  },
  time: {
    taken: ['14:05:00Z', '14:05:00.123456789+05:30', '23:59:60Z', '00:59:60.5+01:00'],
    refused: ['14:05:00', '14:05Z', '14:05:00+01', '14:05:00+0100', '24:00:00Z', '14:05:60Z', '14:05:00Z\n'],
  },
  duration: {
    taken: [
      ...['P1Y2M3DT4H5M6S', 'P1DT12H', 'PT0S', 'P4W', 'PT1M', 'P1M', 'P178956970Y7M', 'P2147483647D'],
      ...['P306783378W', 'PT2147483647S', 'PT2147483646H59M60S'],
    ],
    refused: [
      ...['P', 'P1', 'PT', 'P1YT', 'P1Y2D', 'PT1H2S', 'P1W2D', 'PT0.5S', '-P1D', 'P999999999Y', 'P1D\n'],
      ...[
        'P178956970Y8M',
        'P2147483648D',
        'P306783379W',
        'PT2147483648S',
        'PT2147483647H1S',
        'P00000000001D',
      ],
    ],
  },
  email: { taken: ["o'ann+a@example.org"], refused: ['ann', 'ann@', '@example.org', 'ann@example.org\n'] },
  hostname: {
    taken: ['localhost', 'www.example.org', '1.example', `${'a'.repeat(63)}.example`],
    refused: [
      '',
      '.',
      'example.',
      '.example',
      'a..b',
      'a_b',
      '-a',
      'a-',
      'a.example\n',
      `${'a'.repeat(64)}.a`,
    ],
  },
  ipv4: {
    taken: ['192.0.2.1'],
    refused: ['192.0.2', '192.0.2.01', '192.0.2.256', '192.0.2.1\n', '192.0.2.1/24'],
  },
  ipv6: {
    taken: ['::', '2001:DB8::1', '::ffff:192.0.2.1'],
    refused: ['::ffff:192.0.2.01', 'fe80::1%a', '::1\n', ':::'],
  },
  uri: {
    taken: [
      'https://ann:x@[2001:db8::1]:8080/a%20b;c?d=/?#e',
      'mailto:ann@example.org',
      'urn:a:b',
      'a:',
      'file:///a',
    ],
    refused: [
      ...[
        '/a',
        '//example.org',
        'a b:c',
        'http://example.org:x/',
        'http:/[::1]',
        'http://[::1',
        'http://[fe80::1%25a]/',
      ],
      ...[
        'http://[::ffff:192.0.2.01]/',
        'http://a/"',
        'http://a/%zz',
        'http://a/\n',
        'http://ä/',
        'http://a@b@c/',
      ],
    ],
  },
  'uri-reference': {
    taken: ['', '/a?b=1', '//example.org/a', '#a', '?a', './1:b', 'a/b:c', 'http://a/'],
    refused: ['1:b', '/a"b', '/[::1]', '//a:x/p', '//a@b@c/', '#a#b', '/a\n', '\\\\a\\b'],
  },
  'uri-template': {
    taken: ['/{a.b}{?c*,d:3}', "a'b", 'ä'],
    refused: ['{a', '{a b}', 'a\x7f', '{}', '/{a}\n'],
  },
  uuid: {
    taken: ['6F1C1A4E-0000-4000-8000-00000000000a'],
    refused: [
      'urn:uuid:6f1c1a4e-0000-4000-8000-000000000000',
      '6f1c1a4e00004000800000000000000a',
      '{6f1c1a4e}',
    ],
  },
  byte: {
    taken: ['', 'aGVsbG8=', '+/+/'],
    refused: ['aGVsbG8', 'aGVsbG8=\n', 'aGVs\nbG8=', 'aGV=bG8=', '-_-_'],
  },
  'json-pointer': { taken: ['', '/a~1b/0'], refused: ['a', '/~2', '#/a'] },
  'relative-json-pointer': { taken: ['1/a', '0#'], refused: ['/a', '01', '-1'] },
  regex: { taken: ['^a+$'], refused: ['^(a'] },
}

for (const [format, { taken, refused }] of Object.entries(cases)) {
  t.test(`what is a ${format}`, async (t) => {
    const validate = createAjv('json').compile({ type: 'string', format })
    for (const text of taken) t.ok(validate(text), `${encodeURI(text)} is`)
    for (const text of refused) t.notOk(validate(text), `${encodeURI(text)} is not`)
  })
}

t.test('the example in the message of a format has the format', async (t) => {
  for (const [format, { description }] of Object.entries(formats)) {
    const example = description.replace(/^.*such as /, '')
    t.ok(createAjv('json').validate({ type: 'string', format }, example), example)
  }
})

t.test('no format takes long for a text of 64 kB', async (t) => {
  const pieces = [
    'a',
    '0',
    '/',
    '%41',
    '.',
    '-',
    ':',
    '[',
    ' ',
    '@',
    'a.',
    'a-',
    '0:',
    '1D',
    '{a}',
    '://',
    'é',
  ]
  const before = process.cpuUsage()
  for (const [name, { validate }] of Object.entries(formats)) {
    for (const piece of pieces) {
      for (const [start, end] of [
        ['', ''],
        ['', '\0'],
        ['http://', '\0'],
        ['P', '!'],
      ]) {
        const text = start + piece.repeat(65_536 / piece.length) + end
        if (validate instanceof RegExp) validate.test(text)
        else validate(text)
        const { user } = process.cpuUsage(before)
        if (user > 10_000_000) return t.fail(`${name}: ${piece}`)
      }
    }
  }
})
