// The client's promise, on random contracts and arguments: the service receives the operation and the
// arguments that were given, or the client refuses before it sends anything.

import { isDeepStrictEqual } from 'node:util'
import { contractWith, done, startEngine } from 'contract-testing/engine'
import { rounds } from 'contract-testing/nightly'
import { Random } from 'contract-testing/random-schemas'
import t from 'tap'
import { clientTable } from '../generator/index.js'
import { buildClient } from '../src/client.js'

const [contracts, operationsMax, callsEach] = [rounds(12), 14, 60]

type Values = Record<string, unknown>
const locations = { path: 'params', query: 'query', header: 'headers', cookie: 'cookies' } as const
type Location = keyof typeof locations

const text = { type: 'string' }
const list = { type: 'array', items: text }
const pair = { type: 'object', properties: { R: text, G: text } }
const open = { type: 'object', properties: { R: text }, additionalProperties: text }

/** The schema of a parameter or a field, and a function that makes a value for it. */
type Shape = readonly [schema: object, make: (random: Random) => unknown]
const shapes: Readonly<Record<string, Shape>> = {
  text: [text, textIn],
  nullable: [{ type: ['string', 'null'] }, (random) => (random.is(0.3) ? null : textIn(random))],
  filled: [
    { type: ['string', 'null'], default: 'the default' },
    (random) => (random.is(0.3) ? null : textIn(random)),
  ],
  list: [list, textsIn],
  nullables: [
    { type: 'array', items: { type: ['string', 'null'] } },
    (random) => [...textsIn(random), ...(random.is(0.3) ? [null] : [])],
  ],
  filledList: [{ ...list, default: ['the default'] }, textsIn],
  pair: [pair, (random) => fieldsIn(random, ['R', 'G'])],
  open: [open, (random) => fieldsIn(random, ['R', ...random.some(texts, 0.03)])],
  either: [{ anyOf: [text, list] }, (random) => (random.is(0.5) ? textIn(random) : textsIn(random))],
  json: [{}, (random) => random.pick([null, '', 'null', [], {}, [null], { a: ['"é'] }, 5])],
}

const json = { content: { 'application/json': { schema: {} } } }
const spaced = { style: 'spaceDelimited', explode: false }
const piped = { style: 'pipeDelimited', explode: false }
const forms: readonly (readonly [location: Location, form: object, shapes: readonly string[]])[] = [
  ['path', {}, ['text', 'list', 'pair', 'open']],
  ['path', { explode: true }, ['pair', 'open']],
  ['path', { style: 'label' }, ['text', 'list', 'pair']],
  ['path', { style: 'label', explode: true }, ['list', 'open']],
  ['path', { style: 'matrix' }, ['text', 'list', 'pair']],
  ['path', { style: 'matrix', explode: true }, ['list', 'open']],
  ['path', json, ['json']],
  ['query', {}, ['text', 'nullable', 'filled', 'list', 'nullables', 'filledList', 'pair', 'either']],
  ['query', { explode: false }, ['list', 'nullables', 'filledList', 'pair', 'open']],
  ['query', spaced, ['list', 'filledList', 'pair', 'open']],
  ['query', piped, ['list', 'nullables', 'pair', 'open']],
  ['query', { style: 'deepObject' }, ['pair', 'open']],
  ['query', json, ['json']],
  ['header', {}, ['text', 'nullable', 'filled', 'list', 'nullables', 'filledList', 'pair', 'open']],
  ['header', { explode: true }, ['list', 'pair', 'open']],
  ['header', json, ['json']],
  ['cookie', {}, ['text', 'nullable', 'filled']],
  ['cookie', { explode: false }, ['list', 'nullables', 'filledList', 'pair', 'open']],
  ['cookie', { style: 'cookie' }, ['text', 'list', 'pair']],
  ['cookie', { style: 'cookie', explode: false }, ['list', 'pair', 'open']],
  ['cookie', json, ['json']],
]
const encodings = [{}, { style: 'form', explode: false }, spaced, piped]
const jsonEncoding = { contentType: 'application/json' }

const texts = [
  ...['a', 'b', '', 'a b', 'a|b', 'a,b', '1;2', '=', 'a=b', '.', '..', 'a.b', 'tar.gz', 'all', '%', '%2F'],
  ...['/', '?', '#', '&', '+', 'é', 'a"b', ' a', 'a ', 'a:b', 'a_b', 'a-b', 'x', 'y', 'a.json', 'cancel'],
  ...[
    '😀',
    '\u00a0a',
    '[x]',
    'p0',
    'p1',
    '~',
    '\t',
    'x:cancel',
    'R',
    'null',
    "'",
    '\\',
    '€',
    '%22',
    '\ufeffa',
  ],
  ...['a\nb', 'a\r\nb', '\r', 'docs', 'llms.txt'],
]
const paths = [
  ...['/x/{a}', '/x/all', '/x/{a}.{b}', '/x/{a}.json', '/x/a{a}', '/{a}/x', '/{a}/{b}', '/x/{a}/y', '/x/y'],
  ...[
    '/x/{a}:{b}',
    '/x/{a}_{b}',
    '/x/a b',
    '/x/{a}:cancel',
    '/y/{a}-{b}-{c}',
    '/y/{a}',
    '/y/{a}.{b}',
    '/{a}',
  ],
  ...['/y/{a};{b}', '/%C3%A9/{a}', '/é/%C3%A9', '/y/{a}.tar.gz', '/y/tar.{a}'],
]

function textIn(random: Random): string {
  return random.is(0.2) ? random.pick(texts) + random.pick(texts) : random.pick(texts)
}

function textsIn(random: Random): string[] {
  return Array.from({ length: random.below(4) }, () => textIn(random))
}

function fieldsIn(random: Random, names: readonly string[]): Values {
  return Object.fromEntries(random.some(names, 0.7).map((name) => [name, textIn(random)]))
}

interface Tried {
  readonly operation: object
  /** Makes the arguments of a call. */
  readonly make: (random: Random) => Record<string, Values>
}

// Returns an operation at a path, and a function that makes its arguments.
function operationAt(random: Random, method: string, path: string): Tried {
  const inPath = [...path.matchAll(/\{(\w)\}/g)].map(([whole, name = '']) => {
    const isAlone = path.split('/').includes(whole)
    const [, form, all] = isAlone
      ? random.pick(forms.filter(([location]) => location === 'path'))
      : (forms[0] ?? [])
    return parameter(random, name, 'path', form ?? {}, isAlone ? (all ?? []) : ['text'])
  })
  const others = Array.from({ length: random.below(4) }, (_, i) => {
    const [location, form, all] = random.pick(forms.filter(([location]) => location !== 'path'))
    return parameter(random, `p${i}`, location, form, all)
  })
  const body = method === 'post' && random.is(0.8) ? formBody(random) : undefined
  const all = [...inPath, ...withoutClashes(others)]
  return {
    operation: {
      method,
      path,
      parameters: all.map((each) => each.parameter),
      ...(body && { requestBody: body.requestBody }),
      responses: done,
    },
    make: (random) => {
      const made: Record<string, Values> = {}
      for (const { name, location, make } of all)
        if (location === 'path' || random.is(0.8))
          made[location] = { ...made[location], [name]: make(random) }
      return { ...made, ...(body && { body: body.make(random) }) }
    },
  }
}

type Parameter = ReturnType<typeof parameter>

function parameter(random: Random, name: string, location: Location, form: object, all: readonly string[]) {
  const shape = random.pick(all)
  const [schema, make] = shapes[shape] as Shape
  const content = 'content' in form ? form : { ...form, schema }
  const required = location === 'path' && { required: true }
  return { name, location, shape, make, parameter: { name, in: location, ...required, ...content } }
}

// Keeps only one object whose fields become separate parameters: two would have the same names.
function withoutClashes(parameters: readonly Parameter[]): Parameter[] {
  const isSpread = ({ shape, location }: Parameter) =>
    ['pair', 'open'].includes(shape) && ['query', 'cookie'].includes(location)
  const [first] = parameters.filter(isSpread)
  return parameters.filter((each) => !isSpread(each) || each === first)
}

function formBody(random: Random) {
  const isMultipart = random.is(0.5)
  const names = random.some(['f', 'g', 'a"b', 'h é', 'i%22', 'k'], 0.6)
  const fields = names.map((name) => {
    const shape = random.pick(['text', 'nullable', 'filled', 'list', 'nullables', 'filledList', 'json'])
    const [schema, make] = shapes[shape] as Shape
    const isList = /list|nullables/i.test(shape)
    const encoding = shape === 'json' ? jsonEncoding : isList && !isMultipart ? random.pick(encodings) : {}
    return { name, schema, make, encoding }
  })
  const media = {
    schema: {
      type: 'object',
      properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
      additionalProperties: text,
    },
    encoding: Object.fromEntries(
      fields.flatMap(({ name, encoding }) => (Object.keys(encoding).length === 0 ? [] : [[name, encoding]])),
    ),
  }
  const type = isMultipart ? 'multipart/form-data' : 'application/x-www-form-urlencoded'
  return {
    requestBody: { content: { [type]: media } },
    make: (random: Random): Values => {
      const known = fields.filter(() => random.is(0.8)).map(({ name, make }) => [name, make(random)])
      const more = random
        .some(texts, 0.02)
        .filter((name) => !names.includes(name))
        .map((name) => [name, textIn(random)])
      return Object.fromEntries([...more, ...known])
    },
  }
}

// Drops values without a text: a query or a form can only leave them out.
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]))
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || isDeepStrictEqual(value, []) || isDeepStrictEqual(value, {})
}

function arrived(given: Record<string, Values>, came: Record<string, Values>): boolean {
  return Object.entries({ ...locations, body: 'body' }).every(([location, part]) => {
    const [sent, found] = [given[location] ?? {}, came[part] ?? {}]
    const names = new Set([...Object.keys(sent), ...(location === 'header' ? [] : Object.keys(found))])
    return [...names].every((name) => {
      const [a, b] = [sent[name], plain(found[name])]
      const isFilled = !(name in sent) && [b].flat()[0] === 'the default'
      return isFilled || isDeepStrictEqual(a, b) || (isNothing(a) && isNothing(b))
    })
  })
}

function copied(value: object): object {
  return JSON.parse(JSON.stringify(value))
}

for (let seed = 0; seed < contracts; seed++) {
  t.test(`what arrives is what was given, or nothing is sent (contract ${seed})`, async (t) => {
    const random = new Random(seed)
    const tried = new Map<string, Tried>()
    for (let i = 0; i < operationsMax; i++) {
      const [method, path] = [random.pick(['get', 'post']), random.pick(paths)]
      const name = `${method}${paths.indexOf(path)}`
      tried.set(name, operationAt(random, method, path))
    }
    const contract = await contractWith(
      // Copies, because YAML would have too many aliases.
      Object.fromEntries([...tried].map(([name, { operation }]) => [name, copied(operation)])),
      { openapi: '3.2.0' },
    )
    const calls: [name: string, request: Record<string, Values>][] = []
    const handlers = [...tried.keys()].map((name) => {
      const handler = async (request: object) => {
        calls.push([name, request as Record<string, Values>])
        return { status: 204 }
      }
      return [name, handler] as const
    })
    const { origin } = await startEngine(t, contract, Object.fromEntries(handlers))
    let sent = 0
    const { operations } = buildClient(clientTable(contract), {
      baseUrl: origin,
      attemptsMax: 1,
      fetch: (request: Request) => {
        sent++
        return fetch(request)
      },
    })
    const faults: unknown[] = []
    for (const [name, { operation, make }] of tried) {
      for (let i = 0; i < callsEach; i++) {
        const given = make(random)
        sent = 0
        calls.length = 0
        const failed = await operations[name]?.(given).then(
          () => undefined,
          (error: Error) => error,
        )
        if (failed instanceof TypeError && sent === 0) continue
        const [called, came] = calls[0] ?? []
        if (failed === undefined && called === name && came && arrived(given, came)) continue
        faults.push({ operation, given, failed: failed && String(failed), called, came })
      }
    }
    t.strictSame(faults.slice(0, 3), [], `${faults.length} of ${tried.size * callsEach}`)
  })
}
