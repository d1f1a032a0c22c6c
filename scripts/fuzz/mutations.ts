// What clients do to a request, by mistake or on purpose, in each place where it can be done.

import fc, { type Arbitrary } from 'fast-check'
import { parse, stringify } from 'lossless-json'
import { type Contract, compile, type Operation, type Schema } from './contract.js'
import type { Draft, Mutation } from './draft.js'
import { isPlain } from './parameters.js'
import type { Expectation } from './request.js'
import { hostileText, invalidValue, type Json } from './values.js'

/** A host that no answer may name. */
export const forgedHost = 'forged.example'

/** Every mutation that an operation's requests can take. */
export function mutationsOf(operation: Operation, contract: Contract): Arbitrary<Mutation> {
  return fc.oneof(
    fc.oneof(...methodMutations(operation, contract)),
    ...parameterMutations(operation),
    ...targetMutations(operation, contract),
    ...queryMutations(operation, contract),
    ...headerMutations(contract),
    ...typeMutations(operation),
    ...bodyMutations(operation, contract),
    ...framingMutations(operation),
  )
}

type Place = Mutation['place']
type Apply = (draft: Draft) => void

function mutation(place: Place, expected: Expectation, name: string, apply: Apply): Mutation {
  return { place, expected, name, apply }
}

function named(
  place: Place,
  expected: Expectation,
  all: Readonly<Record<string, Apply>>,
): Arbitrary<Mutation> {
  return fc
    .constantFrom(...Object.entries(all))
    .map(([name, apply]) => mutation(place, expected, name, apply))
}

// One mutation of several that differ in a text.
function several(
  place: Place,
  expected: Expectation,
  name: string,
  texts: readonly string[],
  apply: (draft: Draft, text: string) => void,
): Arbitrary<Mutation> {
  const each = texts.map((text): [string, Apply] => {
    return [`${name} ${JSON.stringify(text.slice(0, 60))}`, (draft) => apply(draft, text)]
  })
  return named(place, expected, Object.fromEntries(each))
}

// curl would mend it.
const raw = (apply: Apply): Apply => {
  return (draft) => {
    apply(draft)
    draft.isRaw = true
  }
}

// The target stays as it is, but it is no operation's any more.
function unroute(draft: Draft): void {
  if (draft.operation !== undefined) draft.operation = { ...draft.operation, id: '' }
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']
const malformedMethods = ['get', 'BREW', 'G', '', ' GET', 'GET\t', 'GÉT', 'PRI', 'A'.repeat(5_000)]

function methodMutations({ method, path }: Operation, { operations }: Contract): Arbitrary<Mutation>[] {
  const known = fc.constantFrom(...methods.filter((each) => each !== method)).map((name) => {
    const asked = name === 'HEAD' ? 'GET' : name
    const target = operations.find((each) => each.path === path && each.method === asked)
    return mutation('method', target ? 'either' : 'refused', `method ${name}`, (draft) => {
      draft.method = name
      if (draft.operation?.id !== '') draft.operation = target ?? draft.operation // unless its target is no operation's
      if (!target) unroute(draft)
    })
  })
  const malformed = several('method', 'refused', 'method', malformedMethods, (draft, method) => {
    Object.assign(draft, { method, isRaw: true })
    unroute(draft)
  })
  return [known, malformed]
}

function parameterMutations({ parameters }: Operation): Arbitrary<Mutation>[] {
  const places = { path: 'target', query: 'query', header: 'header', cookie: 'header' } as const
  return parameters.filter(isPlain).map(({ name, in: location, schema }) =>
    hostileText(schema)
      // Blanks at the ends of a header's value are none of it.
      .filter(({ text }) => location !== 'header' || /^([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?$/.test(text))
      .map(({ text, isValid }) => {
        const expected = isValid === false ? 'refused' : 'either'
        return mutation(
          places[location],
          expected,
          `${name} is ${JSON.stringify(text.slice(0, 40))}`,
          (draft) => {
            if (location === 'path') draft.pathValues[name] = encode(text)
            // What begins another segment, or leaves none, is another path.
            if (location === 'path' && /^\.{0,2}$/.test(text)) unroute(draft)
            if (location === 'query') setQuery(draft, name, encode(text))
            if (location === 'header') setHeader(draft, name, text)
          },
        )
      }),
  )
}

function setQuery(draft: Draft, name: string, value: string): void {
  draft.query = [...draft.query.filter((each) => !each.startsWith(`${name}=`)), `${name}=${value}`]
}

function setHeader(draft: Draft, name: string, value: string): void {
  draft.headers = [...draft.headers.filter(([each]) => each !== name), [name, value]]
}

// As it goes over the wire. A lone surrogate has no encoding: its three bytes are what a careless client sends.
function encode(text: string): string {
  return [...text]
    .map((each) => (/^[\ud800-\udfff]$/.test(each) ? '%ED%A0%80' : encodeURIComponent(each)))
    .join('')
}

function targetMutations({ path }: Operation, { limits, prefix }: Contract): Arbitrary<Mutation>[] {
  const elsewhere = several('target', 'refused', 'target', strayTargets(path, prefix), (draft, target) => {
    draft.retarget = () => target
    draft.isRaw = !target.startsWith('/')
    unroute(draft)
  })
  const long = mutation('target', 'refused', 'a target too long', (draft) => {
    draft.retarget = (target) => `${target}/${'a'.repeat(limits.url)}`
    unroute(draft)
  })
  const retarget =
    (change: Draft['retarget']): Apply =>
    (draft) =>
      void Object.assign(draft, { retarget: change })
  const same = named('target', 'either', {
    'a path with letters in escapes': retarget((target) => target.replace('e', '%65')),
    'a target with a fragment': raw(retarget((target) => `${target}#fragment`)),
  })
  const absolute = named('target', 'done', {
    'a target with a forged host': retarget((target) => `http://${forgedHost}${target}`),
  })
  return [elsewhere, fc.oneof(same, absolute, fc.constant(long))]
}

function strayTargets(path: string, prefix: string): string[] {
  const plain = path.replace(/\{\w+\}/g, '1')
  const last = plain.lastIndexOf('/')
  const ends = ['/', '//', '/nothing', '%2f', '%00', '%zz', '%', '%c0%af', ';v=1', '\xe9'].map(
    (end) => plain + end,
  )
  const below = ['/../..', '/%2e%2e/%2e%2e/etc/passwd', '', '/', '/__proto__'].map((end) => prefix + end)
  const others = [
    '/',
    '//',
    '*',
    'pets',
    '?',
    `http://${forgedHost}/`,
    `ftp://${forgedHost}/`,
    `//${forgedHost}/`,
  ]
  const escaped = `${plain.slice(0, last)}%2F${plain.slice(last + 1)}`
  return [...ends, ...below, ...others, escaped, `/${plain}`, plain.toUpperCase()]
}

// One byte a character, as it is sent: the last is an é in UTF-8.
const strayQueries = [
  'x=1',
  'x',
  '__proto__[x]=1',
  'constructor=1',
  'limit[]=1',
  '%00=1',
  `${'x'.repeat(500)}=1`,
  '\xc3\xa9=1',
]
const emptyQueries = ['', '&&', '=', '?', ';', '%', '%zz=%zz']

function queryMutations({ parameters, path }: Operation, { limits }: Contract): Arbitrary<Mutation>[] {
  const add = (draft: Draft, ...parts: string[]) => void draft.query.push(...parts)
  const inQuery = parameters.filter((each) => each.in === 'query')
  const repeated = inQuery.filter(isPlain).map(({ name }) => name)
  // The fields of an exploded object are parameters of any name, unless it says which.
  const takesAny = inQuery.some(
    ({ explode, schema }) => explode && schema.type === 'object' && schema.additionalProperties !== false,
  )
  return [
    ...repeated.map((name) =>
      named('query', 'refused', { [`${name} twice`]: (draft) => add(draft, `${name}=1`, `${name}=1`) }),
    ),
    named('query', 'refused', {
      'a query too long': (draft) => add(draft, `${inQuery[0]?.name ?? path}=${'a'.repeat(limits.url)}`),
    }),
    several('query', takesAny ? 'either' : 'refused', 'query', strayQueries, (draft, text) =>
      add(draft, text),
    ),
    several('query', 'either', 'query', emptyQueries, (draft, text) => add(draft, text)),
  ]
}

const harmless =
  `Accept: text/html|Accept: */*;q=0|Accept-Encoding: gzip, br|Accept-Language: \xe9|Connection: close
|Connection: Upgrade|Upgrade: h2c|Cookie: a=b; __proto__=1|Expect: 100-continue|Expect: miracles
|Forwarded: host=${forgedHost};proto=https|If-None-Match: *|If-Modified-Since: Sat, 01 Jan 2050 00:00:00 GMT
|Origin: https://${forgedHost}|Range: bytes=0-0|X-Forwarded-Host: ${forgedHost}|X-Forwarded-Proto: https
|X-HTTP-Method-Override: DELETE|X-Request-Id: ${'a'.repeat(129)}|X-Request-Id: abc|X-Request-Id: "\\|__proto__: 1`
    .replaceAll('\n', '')
    .split('|')

const malformed = ['X-Odd: a\0b', 'X-Odd: a\rb', ': a', 'X Odd: a', 'X-Odd : a', `Host: ${forgedHost}`]
const versions = ['HTTP/3.0', 'HTTP/1.1x', 'HTTP/']

function headerMutations({ limits }: Contract): Arbitrary<Mutation>[] {
  const add = (draft: Draft, ...lines: string[]) => void draft.headers.push(...lines.map(headerOf))
  const taken = several('header', 'done', 'header', harmless, (draft, line) => add(draft, line))
  const more = named('header', 'done', {
    'a forged Host': (draft) => {
      draft.headers = [['Host', forgedHost], ...draft.headers.slice(1)]
    },
    'many headers': (draft) => add(draft, ...Array.from({ length: 400 }, (_, i) => `X-${i}: 1`)),
  })
  const refused = named('header', 'refused', {
    'no host': raw((draft) => void draft.headers.shift()),
    'two keys': raw((draft) => add(draft, 'Authorization: Bearer a', 'Authorization: Bearer b')),
    'headers too large': raw((draft) => add(draft, `X-Large: ${'a'.repeat(limits.header)}`)),
  })
  const broken = several('header', 'refused', 'header', malformed, (draft, line) =>
    raw(() => add(draft, line))(draft),
  )
  const version = several('header', 'refused', 'version', versions, (draft, version) => {
    Object.assign(draft, { version, isRaw: true })
  })
  return [taken, taken, more, fc.oneof(refused, broken, version)]
}

function headerOf(line: string): [name: string, value: string] {
  const at = line.indexOf(': ')
  return [line.slice(0, at), line.slice(at + 2)]
}

function typeMutations({ body }: Operation): Arbitrary<Mutation>[] {
  const [type] = body?.schemas.keys() ?? []
  if (type === undefined) return []
  const set = (draft: Draft, value: string) => setHeader(draft, 'Content-Type', value)
  const taken = [type.toUpperCase(), `${type}; charset=utf-8`, `${type};charset="UTF-8"`, ` ${type} ; x=y`]
  const foreign = ['text/plain', 'multipart/form-data; boundary=x', 'x', 'application/', '/', '*/*']
  const refused = [...foreign, `${type}x`, `x${type}`, `${type}; charset=latin1`]
  const codings = ['gzip', 'br', 'x', 'gzip, identity']
  const none: Apply = (draft) => {
    draft.headers = draft.headers.filter(([name]) => name !== 'Content-Type')
  }
  return [
    several('type', 'done', 'type', taken, set),
    several('type', 'refused', 'type', refused, set),
    named('type', 'refused', { 'no type': none }),
    several('type', 'refused', 'coding', codings, (draft, coding) =>
      setHeader(draft, 'Content-Encoding', coding),
    ),
  ]
}

function bodyMutations({ body, method }: Operation, { limits }: Contract): Arbitrary<Mutation>[] {
  const schema = body && [...body.schemas.values()][0]
  if (schema === undefined) {
    if (method !== 'GET') return []
    const unasked = several('body', 'refused', 'a body', ['{}', 'x'], (draft, text) => {
      draft.body = Buffer.from(text)
      draft.headers.push(['Content-Type', 'application/json'])
    })
    return [unasked]
  }
  const edit = (make: (body: Buffer) => Uint8Array): Apply => {
    return (draft) => void Object.assign(draft, { body: make(Buffer.from(draft.body ?? '')) })
  }
  const text = (made: string) => edit(() => Buffer.from(made))
  const after = (end: string, cut = 0) =>
    edit((whole) => Buffer.concat([whole.subarray(0, whole.length - cut), Buffer.from(end, 'latin1')]))
  const padded = (length: number) =>
    edit((whole) => Buffer.concat([whole, Buffer.alloc(length - whole.length, ' ')]))
  const refused = named('body', 'refused', {
    'no body': text(''),
    'a body too large': padded(limits.body + 1),
    'a body that is no UTF-8': after('\xff'),
    'a body nested deeply': text(`{"name":${'['.repeat(20_000)}`),
    'a body nested deeply and closed': text('['.repeat(20_000) + ']'.repeat(20_000)),
    'two bodies': edit((whole) => Buffer.concat([whole, whole])),
    'a body with many unknown fields': text(`{${Array.from({ length: 5_000 }, (_, i) => `"k${i}":1`)}}`),
    'a body with a comma too many': after(',}', 1),
  })
  const done = named('body', 'done', {
    'a body with blanks around it': (draft) =>
      draft.body && edit((whole) => Buffer.from(`\r\n\t ${whole} \n`))(draft),
    'a body of the most bytes': (draft) => draft.body && padded(limits.body)(draft),
  })
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 30 }).map((value) =>
    mutation(
      'body',
      'refused',
      'bytes for a body',
      edit(() => value),
    ),
  )
  const broken = fc.nat(60).map((length) => {
    const cut = edit((whole) => whole.subarray(0, Math.min(length, whole.length - 1)))
    return mutation('body', 'refused', 'a body broken off', cut)
  })
  return [bytes, broken, refused, done, ...fieldMutations(schema)]
}

const strayNumbers = [
  '1.5',
  '1e400',
  '1e-1',
  '01',
  '0x1',
  '9223372036854775808',
  'NaN',
  '"1"',
  '4.0000000000000000001',
]
const strayFields = [
  '"__proto__":{"x":1}',
  '"constructor":{"prototype":{"x":1}}',
  '"id":1',
  '"":1',
  '"\\ud800":1',
]

// The body as JSON, with one field changed.
function fieldMutations(schema: Schema): Arbitrary<Mutation>[] {
  const validate = compile(schema)
  const refuse = (name: string, change: (text: string) => string) =>
    mutation('body', 'refused', name, (draft) => {
      draft.body = Buffer.from(change(Buffer.from(draft.body ?? '{}').toString()))
    })
  const add = (text: string, field: string) => text.replace(/\}$/, `${text === '{}' ? '' : ','}${field}}`)
  // In place of what is there: written twice, it would be refused for that alone.
  const put = (name: string, value: string) =>
    refuse(`${name} is ${value.slice(0, 40)}`, (text) => add(removeField(text, name), `"${name}":${value}`))
  const fields = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  const names = fields.map(([name]) => name)
  const integers = fields.filter(([, { type }]) => type === 'integer').map(([name]) => name)
  const wholes = [null, [], 1, 'x', true, [{}]].filter((value) => validate(value) !== undefined)
  const unknown =
    schema.additionalProperties === false
      ? strayFields.filter((field) => !names.some((name) => field.startsWith(`"${name}":`)))
      : []
  const of = <Value>(values: readonly Value[], make: (value: Value) => Mutation) =>
    values.length > 0 ? [fc.constantFrom(...values).map(make)] : []
  return [
    ...of<Json>(wholes, (value) =>
      refuse(`a body that is ${JSON.stringify(value)}`, () => String(stringify(value))),
    ),
    ...fields.flatMap(
      ([name, each]) => invalidValue(each)?.map((value) => put(name, String(stringify(value)))) ?? [],
    ),
    ...integers.flatMap((name) => of(strayNumbers, (text) => put(name, text))),
    ...of(names, (name) => refuse(`${name} is there twice`, (text) => add(text, `"${name}":1,"${name}":1`))),
    ...of((schema.required ?? []) as string[], (name) =>
      refuse(`no ${name}`, (text) => removeField(text, name)),
    ),
    ...of(unknown, (field) => refuse(`an unknown field ${field}`, (text) => add(text, field))),
  ]
}

function removeField(text: string, name: string): string {
  const { [name]: _, ...others } = parse(text) as Record<string, unknown>
  return String(stringify(others))
}

// Each is one or two headers. RFC 9112, section 6.3: whoever guesses differs from the proxy before it.
const ambiguous = [
  ['Content-Length: 2', 'Content-Length: 2'],
  ['Content-Length: 2', 'Content-Length: 3'],
  ['Content-Length: 2', 'Transfer-Encoding: chunked'],
  ['Transfer-Encoding: chunked', 'Content-Length: 2'],
  ...['-1', '+2', '2,2', '0x2', '99999999999999999999', 'x'].map((length) => [`Content-Length: ${length}`]),
  ...['gzip, chunked', 'chunked, gzip', 'gzip', 'xchunked', 'chunked, chunked', '\x0bchunked'].map(
    (coding) => [`Transfer-Encoding: ${coding}`],
  ),
  ['Transfer-Encoding : chunked'],
]

function framingMutations({ body }: Operation): Arbitrary<Mutation>[] {
  const refused = fc.constantFrom(...ambiguous).map((lines) =>
    mutation('framing', 'refused', lines.join(', '), (draft) => {
      draft.framing = lines.map(headerOf)
      unroute(draft)
    }),
  )
  if (body === undefined) return [refused]
  const inChunks = (expected: Expectation, name: string, chunks: readonly number[], chunkExtension = '') =>
    mutation(
      'framing',
      expected,
      `in chunks ${name}`,
      (draft) => void Object.assign(draft, { chunks, chunkExtension }),
    )
  const sizes = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 })
  const extended = inChunks('done', 'with an extension', [20], ';a="b"')
  const endless = inChunks('refused', 'with endless extensions', [1], `;${'a'.repeat(17_000)}`)
  return [
    refused,
    sizes.map((chunks) => inChunks('done', `of ${chunks}`, chunks)),
    fc.constantFrom(extended, endless),
  ]
}
