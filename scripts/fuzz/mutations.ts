// Mutations: what clients do to a request by mistake or on purpose, for each part of it.

import fc, { type Arbitrary } from 'fast-check'
import { parse, stringify } from 'lossless-json'
import { type Contract, compile, type Operation, type Schema } from './contract.js'
import type { Draft, Mutation } from './draft.js'
import { isPlain } from './parameters.js'
import type { Expectation } from './request.js'
import { hostileText, invalidValue, type Json } from './values.js'

/** A host that no response may contain. */
export const forgedHost = 'forged.example'

/** Any mutation of an operation's requests. */
export function mutationsOf(operation: Operation, contract: Contract): Arbitrary<Mutation> {
  return fc.oneof(
    methodMutations(operation, contract),
    ...parameterMutations(operation),
    ...targetMutations(operation, contract),
    ...queryMutations(operation, contract),
    ...headerMutations(contract),
    ...typeMutations(operation),
    ...bodyMutations(operation, contract),
    ...framingMutations(operation),
  )
}

type Part = Mutation['part']
type Apply = (draft: Draft) => void

function mutation(part: Part, expected: Expectation, name: string, apply: Apply): Mutation {
  return { part, expected, name, apply }
}

// One of several mutations, by name.
function oneOf(
  part: Part,
  expected: Expectation,
  mutations: Readonly<Record<string, Apply>>,
): Arbitrary<Mutation> {
  const all = Object.entries(mutations).map(([name, apply]) => mutation(part, expected, name, apply))
  return fc.constantFrom(...all)
}

// One of several mutations that differ only in a text.
function oneOfTexts(
  part: Part,
  expected: Expectation,
  name: string,
  texts: readonly string[],
  apply: (draft: Draft, text: string) => void,
): Arbitrary<Mutation> {
  return fc
    .constantFrom(...texts)
    .map((text) =>
      mutation(part, expected, `${name} ${JSON.stringify(text.slice(0, 60))}`, (draft) => apply(draft, text)),
    )
}

// Marks the request as one that curl would correct, so that it is reproduced byte by byte.
const raw = (apply: Apply): Apply => {
  return (draft) => {
    apply(draft)
    draft.isRaw = true
  }
}

// The target no longer leads to an operation.
function unroute(draft: Draft): void {
  if (draft.operation !== undefined) draft.operation = { ...draft.operation, id: '' }
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']
const malformedMethods = ['get', 'BREW', 'G', '', ' GET', 'GET\t', 'GÉT', 'PRI', 'A'.repeat(5_000)]

function methodMutations({ method, path }: Operation, { operations }: Contract): Arbitrary<Mutation> {
  const known = fc.constantFrom(...methods.filter((each) => each !== method)).map((name) => {
    const routed = name === 'HEAD' ? 'GET' : name
    const target = operations.find((each) => each.path === path && each.method === routed)
    return mutation('method', target ? 'either' : 'rejected', `method ${name}`, (draft) => {
      draft.method = name
      if (draft.operation?.id !== '') draft.operation = target ?? draft.operation // unless another mutation unrouted it
      if (!target) unroute(draft)
    })
  })
  const malformed = oneOfTexts('method', 'rejected', 'method', malformedMethods, (draft, method) => {
    Object.assign(draft, { method, isRaw: true })
    unroute(draft)
  })
  return fc.oneof(known, malformed)
}

function parameterMutations({ parameters }: Operation): Arbitrary<Mutation>[] {
  const parts = { path: 'target', query: 'query', header: 'header', cookie: 'header' } as const
  return parameters.filter(isPlain).map(({ name, in: location, schema }) =>
    hostileText(schema)
      // Whitespace around a header's value is not part of it.
      .filter(({ text }) => location !== 'header' || /^([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?$/.test(text))
      .map(({ text, isValid }) => {
        const expected = isValid === false ? 'rejected' : 'either'
        const title = `${name} is ${JSON.stringify(text.slice(0, 40))}`
        return mutation(parts[location], expected, title, (draft) => {
          if (location === 'path') draft.pathValues[name] = encode(text)
          // An empty or dot segment makes another path.
          if (location === 'path' && /^\.{0,2}$/.test(text)) unroute(draft)
          if (location === 'query') setQuery(draft, name, encode(text))
          if (location === 'header') setHeader(draft, name, text)
        })
      }),
  )
}

function setQuery(draft: Draft, name: string, value: string): void {
  draft.query = [...draft.query.filter((each) => !each.startsWith(`${name}=`)), `${name}=${value}`]
}

function setHeader(draft: Draft, name: string, value: string): void {
  draft.headers = [...draft.headers.filter(([each]) => each !== name), [name, value]]
}

// A lone surrogate has no UTF-8 encoding: these three bytes are what a careless client sends.
function encode(text: string): string {
  return [...text]
    .map((each) => (/^[\ud800-\udfff]$/.test(each) ? '%ED%A0%80' : encodeURIComponent(each)))
    .join('')
}

function targetMutations({ path }: Operation, { limits, prefix }: Contract): Arbitrary<Mutation>[] {
  const retarget =
    (change: Draft['retarget']): Apply =>
    (draft) =>
      void Object.assign(draft, { retarget: change })
  const unrouted = oneOfTexts(
    'target',
    'rejected',
    'target',
    unroutedTargets(path, prefix),
    (draft, target) => {
      draft.retarget = () => target
      unroute(draft)
    },
  )
  const tooLong = mutation('target', 'rejected', 'a target that is too long', (draft) => {
    draft.retarget = (target) => `${target}/${'a'.repeat(limits.url)}`
    unroute(draft)
  })
  const unusual = oneOf('target', 'either', {
    'a path with percent-encoded letters': retarget((target) => target.replace('e', '%65')),
    'a target with a fragment': raw(retarget((target) => `${target}#fragment`)),
  })
  const absolute = oneOf('target', 'accepted', {
    'an absolute target with a forged host': retarget((target) => `http://${forgedHost}${target}`),
  })
  return [unrouted, fc.oneof(unusual, absolute, fc.constant(tooLong))]
}

function unroutedTargets(path: string, prefix: string): string[] {
  const plain = path.replace(/\{\w+\}/g, '1')
  const last = plain.lastIndexOf('/')
  const suffixed = '/ // /nothing %2f %00 %zz % %c0%af ;v=1 \xe9'.split(' ').map((end) => plain + end)
  const below = ['/../..', '/%2e%2e/%2e%2e/etc/passwd', '', '/', '/__proto__'].map((end) => prefix + end)
  const others = `/ // * pets ? http://${forgedHost}/ ftp://${forgedHost}/ //${forgedHost}/`.split(' ')
  const encodedSlash = `${plain.slice(0, last)}%2F${plain.slice(last + 1)}`
  return [...suffixed, ...below, ...others, encodedSlash, `/${plain}`, plain.toUpperCase()]
}

// As sent, one byte a character: \xc3\xa9 is é in UTF-8.
const unknownQueries = [
  ...'x=1 x __proto__[x]=1 constructor=1 limit[]=1 %00=1 \xc3\xa9=1'.split(' '),
  `${'x'.repeat(500)}=1`,
]
const emptyQueries = ['', '&&', '=', '?', ';', '%', '%zz=%zz']

function queryMutations({ parameters, path }: Operation, { limits }: Contract): Arbitrary<Mutation>[] {
  const add = (draft: Draft, ...parts: string[]) => void draft.query.push(...parts)
  const inQuery = parameters.filter((each) => each.in === 'query')
  // An exploded object makes every name a parameter, unless its schema forbids additional properties.
  const takesAny = inQuery.some(
    ({ explode, schema }) => explode && schema.type === 'object' && schema.additionalProperties !== false,
  )
  return [
    ...inQuery
      .filter(isPlain)
      .map(({ name }) =>
        oneOf('query', 'rejected', { [`${name} twice`]: (draft) => add(draft, `${name}=1`, `${name}=1`) }),
      ),
    oneOf('query', 'rejected', {
      'a query that is too long': (draft) =>
        add(draft, `${inQuery[0]?.name ?? path}=${'a'.repeat(limits.url)}`),
    }),
    oneOfTexts('query', takesAny ? 'either' : 'rejected', 'query', unknownQueries, add),
    oneOfTexts('query', 'either', 'query', emptyQueries, add),
  ]
}

const harmlessHeaders =
  `Accept: text/html|Accept: */*;q=0|Accept-Encoding: gzip, br|Accept-Language: \xe9|Connection: close
|Connection: Upgrade|Upgrade: h2c|Cookie: a=b; __proto__=1|Expect: 100-continue|Expect: miracles
|Forwarded: host=${forgedHost};proto=https|If-None-Match: *|If-Modified-Since: Sat, 01 Jan 2050 00:00:00 GMT
|Origin: https://${forgedHost}|Range: bytes=0-0|X-Forwarded-Host: ${forgedHost}|X-Forwarded-Proto: https
|X-HTTP-Method-Override: DELETE|X-Request-Id: ${'a'.repeat(129)}|X-Request-Id: abc|X-Request-Id: "\\|__proto__: 1`
    .replaceAll('\n', '')
    .split('|')
const malformedHeaders = ['X-Odd: a\0b', 'X-Odd: a\rb', ': a', 'X Odd: a', 'X-Odd : a', `Host: ${forgedHost}`]
const malformedVersions = ['HTTP/3.0', 'HTTP/1.1x', 'HTTP/']

function headerMutations({ limits }: Contract): Arbitrary<Mutation>[] {
  const add = (draft: Draft, ...lines: string[]) => void draft.headers.push(...lines.map(headerOf))
  const harmless = oneOfTexts('header', 'accepted', 'header', harmlessHeaders, add)
  const unusual = oneOf('header', 'accepted', {
    'a forged Host': (draft) => {
      draft.headers = [['Host', forgedHost], ...draft.headers.slice(1)]
    },
    'many headers': (draft) => add(draft, ...Array.from({ length: 400 }, (_, i) => `X-${i}: 1`)),
  })
  const rejected = oneOf('header', 'rejected', {
    'no Host': raw((draft) => void draft.headers.shift()),
    'two keys': raw((draft) => add(draft, 'Authorization: Bearer a', 'Authorization: Bearer b')),
    'headers that are too large': raw((draft) => add(draft, `X-Large: ${'a'.repeat(limits.header)}`)),
  })
  const malformed = oneOfTexts('header', 'rejected', 'header', malformedHeaders, (draft, line) =>
    raw(() => add(draft, line))(draft),
  )
  const version = oneOfTexts('header', 'rejected', 'version', malformedVersions, (draft, version) => {
    Object.assign(draft, { version, isRaw: true })
  })
  // Harmless headers twice: they are most of these mutations.
  return [harmless, harmless, unusual, fc.oneof(rejected, malformed, version)]
}

function headerOf(line: string): [name: string, value: string] {
  const at = line.indexOf(': ')
  return [line.slice(0, at), line.slice(at + 2)]
}

function typeMutations({ body }: Operation): Arbitrary<Mutation>[] {
  const [type] = body?.schemas.keys() ?? []
  if (type === undefined) return []
  const set = (draft: Draft, value: string) => setHeader(draft, 'Content-Type', value)
  const same = [type.toUpperCase(), `${type}; charset=utf-8`, `${type};charset="UTF-8"`, ` ${type} ; x=y`]
  const others = ['text/plain', 'multipart/form-data; boundary=x', 'x', 'application/', '/', '*/*']
  const unsupported = [...others, `${type}x`, `x${type}`, `${type}; charset=latin1`]
  const codings = ['gzip', 'br', 'x', 'gzip, identity']
  return [
    oneOfTexts('type', 'accepted', 'type', same, set),
    oneOfTexts('type', 'rejected', 'type', unsupported, set),
    oneOf('type', 'rejected', {
      'no type': (draft) => {
        draft.headers = draft.headers.filter(([name]) => name !== 'Content-Type')
      },
    }),
    oneOfTexts('type', 'rejected', 'coding', codings, (draft, coding) =>
      setHeader(draft, 'Content-Encoding', coding),
    ),
  ]
}

function bodyMutations({ body, method }: Operation, { limits }: Contract): Arbitrary<Mutation>[] {
  const schema = body && [...body.schemas.values()][0]
  if (schema === undefined) {
    if (method !== 'GET') return []
    const unexpected = oneOfTexts('body', 'rejected', 'a body', ['{}', 'x'], (draft, text) => {
      draft.body = Buffer.from(text)
      draft.headers.push(['Content-Type', 'application/json'])
    })
    return [unexpected]
  }
  const edit = (change: (body: Buffer) => Uint8Array): Apply => {
    return (draft) => void Object.assign(draft, { body: change(Buffer.from(draft.body ?? '')) })
  }
  const replace = (text: string) => edit(() => Buffer.from(text))
  const pad = (length: number) =>
    edit((whole) => Buffer.concat([whole, Buffer.alloc(length - whole.length, ' ')]))
  const rejected = oneOf('body', 'rejected', {
    'no body': replace(''),
    'a body that is too large': pad(limits.body + 1),
    'a body that is not UTF-8': edit((whole) => Buffer.concat([whole, Buffer.from([0xff])])),
    'a deeply nested body, cut off': replace(`{"name":${'['.repeat(20_000)}`),
    'a deeply nested body': replace('['.repeat(20_000) + ']'.repeat(20_000)),
    'two bodies': edit((whole) => Buffer.concat([whole, whole])),
    'many unknown fields': replace(`{${Array.from({ length: 5_000 }, (_, i) => `"k${i}":1`)}}`),
    'a trailing comma': edit((whole) => Buffer.from(`${whole.subarray(0, -1)},}`)),
  })
  const accepted = oneOf('body', 'accepted', {
    'a body with whitespace around it': (draft) =>
      draft.body && edit((whole) => Buffer.from(`\r\n\t ${whole} \n`))(draft),
    'a body of the maximum size': (draft) => draft.body && pad(limits.body)(draft),
  })
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 30 }).map((value) =>
    mutation(
      'body',
      'rejected',
      'a body of random bytes',
      edit(() => value),
    ),
  )
  const truncated = fc.nat(60).map((length) => {
    const cut = edit((whole) => whole.subarray(0, Math.min(length, whole.length - 1)))
    return mutation('body', 'rejected', 'a truncated body', cut)
  })
  return [bytes, truncated, rejected, accepted, ...fieldMutations(schema)]
}

const invalidNumbers = '1.5 1e400 1e-1 01 0x1 9223372036854775808 NaN "1" 4.0000000000000000001'.split(' ')
const unknownFields = [
  '"__proto__":{"x":1}',
  '"constructor":{"prototype":{"x":1}}',
  '"id":1',
  '"":1',
  '"\\ud800":1',
]

// Mutations of the body as JSON: of all of it, or of one field.
function fieldMutations(schema: Schema): Arbitrary<Mutation>[] {
  const validate = compile(schema)
  const reject = (name: string, change: (text: string) => string) =>
    mutation('body', 'rejected', name, (draft) => {
      draft.body = Buffer.from(change(Buffer.from(draft.body ?? '{}').toString()))
    })
  const add = (text: string, field: string) => text.replace(/\}$/, `${text === '{}' ? '' : ','}${field}}`)
  // Replaces the field: a duplicate name is rejected for that alone.
  const set = (name: string, value: string) =>
    reject(`${name} is ${value.slice(0, 40)}`, (text) => add(removeField(text, name), `"${name}":${value}`))
  const fields = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  const names = fields.map(([name]) => name)
  const integers = fields.filter(([, { type }]) => type === 'integer').map(([name]) => name)
  const wholes = [null, [], 1, 'x', true, [{}]].filter((value) => validate(value) !== undefined)
  const unknown =
    schema.additionalProperties === false
      ? unknownFields.filter((field) => !names.some((name) => field.startsWith(`"${name}":`)))
      : []
  const each = <Value>(values: readonly Value[], make: (value: Value) => Mutation) =>
    values.length > 0 ? [fc.constantFrom(...values).map(make)] : []
  return [
    ...each<Json>(wholes, (value) =>
      reject(`a body that is ${JSON.stringify(value)}`, () => String(stringify(value))),
    ),
    ...fields.flatMap(
      ([name, field]) => invalidValue(field)?.map((value) => set(name, String(stringify(value)))) ?? [],
    ),
    ...integers.flatMap((name) => each(invalidNumbers, (text) => set(name, text))),
    ...each(names, (name) => reject(`${name} twice`, (text) => add(text, `"${name}":1,"${name}":1`))),
    ...each((schema.required ?? []) as string[], (name) =>
      reject(`no ${name}`, (text) => removeField(text, name)),
    ),
    ...each(unknown, (field) => reject(`an unknown field ${field}`, (text) => add(text, field))),
  ]
}

function removeField(text: string, name: string): string {
  const { [name]: _, ...others } = parse(text) as Record<string, unknown>
  return String(stringify(others))
}

// Ambiguous framing: a server that guesses may disagree with the proxy before it (request smuggling; RFC 9112, section 6.3).
const ambiguousFraming = [
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
  const ambiguous = fc.constantFrom(...ambiguousFraming).map((lines) =>
    mutation('framing', 'rejected', lines.join(', '), (draft) => {
      draft.framing = lines.map(headerOf)
      unroute(draft)
    }),
  )
  if (body === undefined) return [ambiguous]
  const chunked = (expected: Expectation, name: string, chunks: readonly number[], chunkExtension = '') =>
    mutation('framing', expected, name, (draft) => void Object.assign(draft, { chunks, chunkExtension }))
  const sizes = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 })
  const extended = chunked('accepted', 'chunks with an extension', [20], ';a="b"')
  const extension = `;${'a'.repeat(17_000)}`
  const tooLong = chunked('rejected', 'chunks with extensions that are too long', [1], extension)
  return [
    ambiguous,
    sizes.map((chunks) => chunked('accepted', `chunks of ${chunks}`, chunks)),
    fc.constantFrom(extended, tooLong),
  ]
}
