// What clients do to a request, by mistake or on purpose, in each place where it can be done.

import fc, { type Arbitrary } from 'fast-check'
import { stringify } from 'lossless-json'
import { type Contract, compile, type Operation, type Schema } from './contract.js'
import type { Draft, Twist } from './draft.js'
import type { Expectation } from './request.js'
import { hostileText, invalidValue, type Json } from './values.js'

/** A host that no answer may name. */
export const forgedHost = 'forged.example'

/** Every twist that an operation's requests can take. */
export function twistsOf(operation: Operation, contract: Contract): Arbitrary<Twist> {
  const all = [
    methodTwists(operation, contract),
    ...targetTwists(operation, contract),
    ...queryTwists(operation, contract),
    ...headerTwists(contract),
    ...parameterHeaderTwists(operation),
    ...typeTwists(operation),
    ...bodyTwists(operation, contract),
    ...framingTwists(operation),
  ]
  return fc.oneof(...all)
}

type Place = Twist['place']

function twist(place: Place, expected: Expectation, name: string, apply: (draft: Draft) => void): Twist {
  return { place, expected, name, apply }
}

// One twist of several that differ in a text.
function several(
  place: Place,
  expected: Expectation,
  name: string,
  values: readonly string[],
  apply: (draft: Draft, value: string) => void,
): Arbitrary<Twist> {
  return fc
    .constantFrom(...values)
    .map((value) =>
      twist(place, expected, `${name} ${JSON.stringify(value.slice(0, 60))}`, (draft) => apply(draft, value)),
    )
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']
const malformedMethods = ['get', 'BREW', 'GETT', 'G', '', ' GET', 'GET\t', 'GÉT', 'PRI', 'A'.repeat(5_000)]

function methodTwists({ method, path }: Operation, { operations }: Contract): Arbitrary<Twist> {
  const others = methods.filter((each) => each !== method)
  const known = fc.constantFrom(...others).map((name) => {
    const asked = name === 'HEAD' ? 'GET' : name
    const target = operations.find((each) => each.path === path && each.method === asked)
    return twist('method', target ? 'either' : 'refused', `method ${name}`, (draft) => {
      draft.method = name
      if (draft.operation?.id !== '') draft.operation = target ?? draft.operation // unless its target is no operation's
      if (!target) unroute(draft)
    })
  })
  const malformed = several('method', 'refused', 'method', malformedMethods, (draft, name) => {
    draft.method = name
    draft.isRaw = true
    unroute(draft)
  })
  return fc.oneof(known, malformed)
}

// The target stays as it is, but it is no operation's any more.
function unroute(draft: Draft): void {
  const { operation } = draft
  if (operation !== undefined) draft.operation = { ...operation, id: '' }
}

function targetTwists({ path, parameters }: Operation, { prefix, limits }: Contract): Arbitrary<Twist>[] {
  const inPath = parameters.filter((each) => each.in === 'path')
  const values = inPath.map(({ name, schema }) =>
    hostileText(schema).map(({ text, isValid }) =>
      // What begins another segment, or leaves none, is another path.
      twist(
        'target',
        isValid === false ? 'refused' : 'either',
        `${name} is ${JSON.stringify(text.slice(0, 40))}`,
        (draft) => {
          draft.pathValues = { ...draft.pathValues, [name]: encode(text) }
          if (/^\.{0,2}$/.test(text)) unroute(draft)
        },
      ),
    ),
  )
  const elsewhere = several('target', 'refused', 'target', strayTargets(path, prefix), (draft, value) => {
    draft.retarget = () => value
    draft.isRaw = !value.startsWith('/')
    unroute(draft)
  })
  const absolute = twist('target', 'done', 'a target with a forged host', (draft) => {
    draft.retarget = (target) => `http://${forgedHost}${target}`
  })
  const escaped = twist('target', 'either', 'a path with letters in escapes', (draft) => {
    draft.retarget = (target) => target.replace('e', '%65')
  })
  const fragment = twist('target', 'either', 'a target with a fragment', (draft) => {
    draft.retarget = (target) => `${target}#fragment`
    draft.isRaw = true
  })
  const long = twist('target', 'refused', 'a target too long', (draft) => {
    draft.retarget = (target) => `${target}/${'a'.repeat(limits.url)}`
    unroute(draft)
  })
  return [...values, elsewhere, fc.constantFrom(absolute, escaped, fragment, long)]
}

function strayTargets(path: string, prefix: string): string[] {
  const plain = path.replace(/\{\w+\}/g, '1')
  const last = plain.lastIndexOf('/')
  return [
    `${plain}/`,
    `${plain}//`,
    `/${plain}`,
    plain.toUpperCase(),
    `${plain}/nothing`,
    `${plain}%2f`,
    `${plain}%00`,
    `${plain}%zz`,
    `${plain}%`,
    `${plain}%c0%af`,
    `${plain};v=1`,
    `${plain.slice(0, last)}%2F${plain.slice(last + 1)}`,
    `${prefix}/../..${plain}`,
    `${prefix}/%2e%2e/%2e%2e/etc/passwd`,
    `${prefix}`,
    `${prefix}/`,
    `${prefix}/__proto__`,
    `${prefix}/constructor`,
    '/',
    '//',
    '*',
    'pets',
    '?',
    `${plain}\xe9`,
    `http://${forgedHost}`,
    `http://${forgedHost}/`,
    `ftp://${forgedHost}/`,
    `//${forgedHost}/`,
  ]
}

function queryTwists({ parameters, path }: Operation, { limits }: Contract): Arbitrary<Twist>[] {
  const inQuery = parameters.filter((each) => each.in === 'query')
  const values = inQuery.map(({ name, schema }) =>
    hostileText(schema).map(({ text, isValid }) =>
      twist(
        'query',
        isValid === false ? 'refused' : 'either',
        `${name} is ${JSON.stringify(text.slice(0, 40))}`,
        (draft) => {
          setQuery(draft, name, encode(text))
        },
      ),
    ),
  )
  const repeated = inQuery
    .filter(({ schema }) => schema.type !== 'array')
    .map(({ name }) =>
      twist('query', 'refused', `${name} twice`, (draft) => {
        draft.query = [...draft.query, `${name}=1`, `${name}=1`]
      }),
    )
  const unknown = several('query', 'refused', 'query', strayQueries, (draft, value) => {
    draft.query = [...draft.query, value]
  })
  const odd = several(
    'query',
    'either',
    'query',
    ['', '&', '&&', '=', '?', ';', '%', '%zz=%zz'],
    (draft, value) => {
      draft.query = [...draft.query, value]
    },
  )
  const long = twist('query', 'refused', 'a query too long', (draft) => {
    draft.query = [...draft.query, `${inQuery[0]?.name ?? path}=${'a'.repeat(limits.url)}`]
  })
  return [...values, fc.constantFrom(...repeated, long), unknown, odd]
}

const strayQueries = [
  'x=1',
  'x',
  '__proto__=1',
  '__proto__[x]=1',
  'constructor=1',
  'limit[]=1',
  'a[b]=c',
  '%00=1',
  `${'x'.repeat(500)}=1`,
  'é=1',
].map((each) => Buffer.from(each).toString('latin1'))

function setQuery(draft: Draft, name: string, value: string): void {
  draft.query = [...draft.query.filter((each) => !each.startsWith(`${name}=`)), `${name}=${value}`]
}

const harmless: [string, string][] = [
  ['Accept', 'text/html'],
  ['Accept', '*/*;q=0'],
  ['Accept-Encoding', 'gzip, br'],
  ['Accept-Language', '\xe9'],
  ['Connection', 'close'],
  ['Connection', 'Upgrade'],
  ['Upgrade', 'h2c'],
  ['Cookie', 'a=b; __proto__=1'],
  ['Expect', '100-continue'],
  ['Expect', 'miracles'],
  ['Forwarded', `host=${forgedHost};proto=https`],
  ['If-None-Match', '*'],
  ['If-Modified-Since', 'Sat, 01 Jan 2050 00:00:00 GMT'],
  ['Origin', `https://${forgedHost}`],
  ['Range', 'bytes=0-0'],
  ['X-Forwarded-Host', forgedHost],
  ['X-Forwarded-Proto', 'https'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Request-Id', 'a'.repeat(129)],
  ['X-Request-Id', 'abc'],
  ['X-Request-Id', '"\\'],
  ['__proto__', '1'],
]

// Texts that a header can hold: blanks at its ends are none of it.
function parameterHeaderTwists({ parameters }: Operation): Arbitrary<Twist>[] {
  return parameters
    .filter((each) => each.in === 'header')
    .map(({ name, schema }) =>
      hostileText(schema)
        .filter(({ text }) => /^([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?$/.test(text))
        .map(({ text, isValid }) =>
          twist(
            'header',
            isValid === false ? 'refused' : 'either',
            `${name}: ${text.slice(0, 40)}`,
            (draft) => {
              draft.headers = [...draft.headers.filter(([each]) => each !== name), [name, text]]
            },
          ),
        ),
    )
}

function headerTwists({ limits }: Contract): Arbitrary<Twist>[] {
  const taken = fc
    .constantFrom(...harmless)
    .map(([name, value]) =>
      twist(
        'header',
        'done',
        `${name}: ${value.slice(0, 40)}`,
        (draft) => void draft.headers.push([name, value]),
      ),
    )
  const host = twist('header', 'done', 'a forged Host', (draft) => {
    draft.headers = [['Host', forgedHost], ...draft.headers.slice(1)]
  })
  const many = twist('header', 'done', 'many headers', (draft) => {
    for (let i = 0; i < 400; i++) draft.headers.push([`X-${i}`, '1'])
  })
  const refused: [string, (draft: Draft) => void][] = [
    ['two hosts', (draft) => void draft.headers.push(['Host', forgedHost])],
    ['no host', (draft) => void draft.headers.shift()],
    [
      'two keys',
      (draft) => void draft.headers.push(['Authorization', 'Bearer a'], ['Authorization', 'Bearer b']),
    ],
    ['headers too large', (draft) => void draft.headers.push(['X-Large', 'a'.repeat(limits.header)])],
    ['a header with a NUL', (draft) => void draft.headers.push(['X-Odd', 'a\0b'])],
    ['a header with a carriage return', (draft) => void draft.headers.push(['X-Odd', 'a\rb'])],
    ['a header without a name', (draft) => void draft.headers.push(['', 'a'])],
    ['a header name with a blank', (draft) => void draft.headers.push(['X Odd', 'a'])],
    ['a header name before a blank', (draft) => void draft.headers.push(['X-Odd ', 'a'])],
    [
      'HTTP/3.0',
      (draft) => {
        draft.version = 'HTTP/3.0'
      },
    ],
    [
      'HTTP/1.1x',
      (draft) => {
        draft.version = 'HTTP/1.1x'
      },
    ],
    [
      'no version',
      (draft) => {
        draft.version = 'HTTP/'
      },
    ],
  ]
  const malformed = fc.constantFrom(...refused).map(([name, change]) =>
    twist('header', 'refused', name, (draft) => {
      change(draft)
      draft.isRaw = true
    }),
  )
  return [taken, taken, fc.constantFrom(host, many), malformed]
}

function typeTwists({ body }: Operation): Arbitrary<Twist>[] {
  if (body === undefined) return []
  const types = [...body.schemas.keys()]
  const set = (draft: Draft, value: string) => {
    draft.headers = draft.headers.filter(([name]) => name !== 'Content-Type')
    draft.headers.push(['Content-Type', value])
  }
  const taken = types.flatMap((type) => [
    type.toUpperCase(),
    `${type}; charset=utf-8`,
    `${type};charset="UTF-8"`,
    ` ${type} ; x=y`,
  ])
  const refused = [
    'text/plain',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    'x',
    'application/',
    '/',
    '*/*',
    'application/jsonx',
    ...types.flatMap((type) => [`${type}; charset=latin1`, `x${type}`]),
  ]
  const codings = ['gzip', 'br', 'deflate', 'x', 'gzip, identity']
  return [
    several('type', 'done', 'type', taken, set),
    several('type', 'refused', 'type', refused, set),
    fc.constant(
      twist('type', 'refused', 'no type', (draft) => {
        draft.headers = draft.headers.filter(([name]) => name !== 'Content-Type')
      }),
    ),
    several(
      'type',
      'refused',
      'coding',
      codings,
      (draft, value) => void draft.headers.push(['Content-Encoding', value]),
    ),
  ]
}

function bodyTwists({ body, method }: Operation, { limits }: Contract): Arbitrary<Twist>[] {
  const schema = body && [...body.schemas.values()][0]
  if (schema === undefined) {
    if (method !== 'GET') return []
    const unasked = several('body', 'refused', 'a body', ['{}', 'x'], (draft, text) => {
      draft.body = Buffer.from(text)
      draft.headers.push(['Content-Type', 'application/json'])
    })
    return [unasked]
  }
  const refuse = (name: string, make: (body: Buffer) => Uint8Array) =>
    twist('body', 'refused', name, (draft) => {
      draft.body = make(Buffer.from(draft.body ?? ''))
    })
  const bytes = fc
    .uint8Array({ minLength: 1, maxLength: 30 })
    .map((value) => refuse('bytes for a body', () => value))
  const broken = fc
    .nat(60)
    .map((length) =>
      refuse('a body broken off', (whole) => whole.subarray(0, Math.min(length, whole.length - 1))),
    )
  const wrong = [
    refuse('no body', () => Buffer.alloc(0)),
    refuse('a body too large', (whole) =>
      Buffer.concat([whole, Buffer.alloc(limits.body + 1 - whole.length, ' ')]),
    ),
    refuse('a body that is no UTF-8', (whole) => Buffer.concat([whole, Buffer.from([0xff])])),
    refuse('a body nested deeply', () => Buffer.from(`{"name":${'['.repeat(20_000)}`)),
    refuse('a body nested deeply and closed', () => Buffer.from('['.repeat(20_000) + ']'.repeat(20_000))),
    refuse('two bodies', (whole) => Buffer.concat([whole, whole])),
    refuse('a body with many unknown fields', () =>
      Buffer.from(`{${Array.from({ length: 5_000 }, (_, i) => `"k${i}":1`)}}`),
    ),
    refuse('a body with a comma too many', (whole) =>
      Buffer.concat([whole.subarray(0, -1), Buffer.from(',}')]),
    ),
  ]
  const padded = twist('body', 'done', 'a body with blanks around it', (draft) => {
    if (draft.body)
      draft.body = Buffer.concat([Buffer.from('\r\n\t '), draft.body, Buffer.from(' '.repeat(2_000))])
  })
  const full = twist('body', 'done', 'a body of the most bytes', (draft) => {
    if (draft.body)
      draft.body = Buffer.concat([draft.body, Buffer.alloc(limits.body - draft.body.length, ' ')])
  })
  return [bytes, broken, fc.constantFrom(...wrong), fc.constantFrom(padded, full), ...fieldTwists(schema)]
}

// The body as JSON, with one field changed.
function fieldTwists(schema: Schema): Arbitrary<Twist>[] {
  const check = compile(schema)
  const edit = (name: string, change: (text: string) => string) =>
    twist('body', 'refused', name, (draft) => {
      draft.body = Buffer.from(change(Buffer.from(draft.body ?? '{}').toString()))
    })
  const whole = fc
    .constantFrom<Json>(null, [], 1, 'x', true, [{}])
    .filter((value) => check(value) !== undefined)
  const fields = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  const add = (text: string, field: string) => text.replace(/\}$/, `${text === '{}' ? '' : ','}${field}}`)
  // Written twice, it would be refused for that alone.
  const without = (text: string, name: string) => removeField(text, name)
  return [
    whole.map((value) => edit(`a body that is ${JSON.stringify(value)}`, () => String(stringify(value)))),
    ...fields.map(([name, each]) =>
      invalidValue(each).map((value) =>
        edit(`${name} is ${String(stringify(value)).slice(0, 40)}`, (text) =>
          add(without(text, name), `"${name}":${stringify(value)}`),
        ),
      ),
    ),
    ...fields
      .filter(([, { type }]) => type === 'integer')
      .map(([name]) =>
        fc
          .constantFrom(
            '1.5',
            '1e400',
            '1e-1',
            '01',
            '0x1',
            '9223372036854775808',
            'NaN',
            '"1"',
            '4.0000000000000000001',
          )
          .map((text) => edit(`${name} is ${text}`, (body) => add(without(body, name), `"${name}":${text}`))),
      ),
    fc
      .constantFrom(...fields.map(([name]) => name))
      .map((name) => edit(`${name} is there twice`, (text) => add(text, `"${name}":1,"${name}":1`))),
    fc
      .constantFrom(...((schema.required ?? []) as string[]))
      .map((name) => edit(`no ${name}`, (text) => without(text, name))),
    fc
      .constantFrom(
        '"__proto__":{"x":1}',
        '"constructor":{"prototype":{"x":1}}',
        '"id":1',
        '"":1',
        '"toString":1',
        '"\\ud800":1',
      )
      .map((field) => edit(`an unknown field ${field}`, (text) => add(text, field))),
  ]
}

function removeField(text: string, name: string): string {
  const value = '(?:"(?:[^"\\\\]|\\\\.)*"|[^,}"]+)'
  return text.replace(new RegExp(`(?<=[{,])"${name}":${value},?`), '').replace(/,\}$/, '}')
}

function framingTwists({ body }: Operation): Arbitrary<Twist>[] {
  const refused: [string, string][][] = [
    [
      ['Content-Length', '2'],
      ['Content-Length', '2'],
    ],
    [
      ['Content-Length', '2'],
      ['Content-Length', '3'],
    ],
    [
      ['Content-Length', '2'],
      ['Transfer-Encoding', 'chunked'],
    ],
    [
      ['Transfer-Encoding', 'chunked'],
      ['Content-Length', '2'],
    ],
    [['Content-Length', '-1']],
    [['Content-Length', '+2']],
    [['Content-Length', '2,2']],
    [['Content-Length', '0x2']],
    [['Content-Length', '99999999999999999999']],
    [['Content-Length', 'x']],
    [['Transfer-Encoding', 'gzip, chunked']],
    [['Transfer-Encoding', 'chunked, gzip']],
    [['Transfer-Encoding', 'gzip']],
    [['Transfer-Encoding', 'xchunked']],
    [['Transfer-Encoding', 'chunked, chunked']],
    [['Transfer-Encoding ', 'chunked']],
    [['Transfer-Encoding', '\x0bchunked']],
  ]
  const ambiguous = fc.constantFrom(...refused).map((headers) =>
    twist('framing', 'refused', headers.map((each) => each.join(': ')).join(', '), (draft) => {
      draft.framing = headers
      unroute(draft)
    }),
  )
  if (body === undefined) return [ambiguous]
  const chunked = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 }).map((chunks) =>
    twist('framing', 'done', `in chunks of ${chunks}`, (draft) => {
      draft.chunks = chunks
    }),
  )
  const extended = twist('framing', 'done', 'in chunks with an extension', (draft) => {
    draft.chunks = [20]
    draft.chunkExtension = ';a="b"'
  })
  const endless = twist('framing', 'refused', 'in chunks with endless extensions', (draft) => {
    draft.chunks = [1]
    draft.chunkExtension = `;${'a'.repeat(17_000)}`
  })
  return [ambiguous, chunked, fc.constantFrom(extended, endless)]
}

// As it goes over the wire. A lone surrogate has no encoding: its three bytes are what a careless client sends.
function encode(text: string): string {
  return [...text]
    .map((each) =>
      /[\ud800-\udfff]/.test(each) && each.length === 1 ? '%ED%A0%80' : encodeURIComponent(each),
    )
    .join('')
}
