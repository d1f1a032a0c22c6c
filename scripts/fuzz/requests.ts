// Requests for every operation of the document: as it wants them, and twisted in one place or two.

import fc, { type Arbitrary } from 'fast-check'
import { stringify } from 'lossless-json'
import type { Contract, Operation, Parameter } from './contract.js'
import { type Draft, type Mutation, toRequest } from './draft.js'
import { mutationsOf } from './mutations.js'
import { isPlain, setParameter } from './parameters.js'
import type { Expectation, Request } from './request.js'
import { type Json, validValue } from './values.js'

/** Keys of the service under test. */
export interface Keys {
  /** Which no quota stops. */
  readonly open: string
  /** Of which the service may refuse one for its quota, the other for good. */
  readonly limited?: string
  readonly revoked?: string
}

/** Where requests go to, and as whom. */
export interface Service {
  readonly origin: string
  readonly keys: Keys
  readonly contract: Contract
}

/** Requests to a service, of its operations and of the links that it gave. */
export function requests(service: Service, links: readonly string[]): Arbitrary<Request> {
  const made = fc.oneof(...service.contract.operations.map((operation) => requestsOf(operation, service)))
  if (links.length === 0) return made
  return fc.oneof({ weight: 12, arbitrary: made }, { weight: 1, arbitrary: followed(links, service) })
}

/** Requests for one operation that nothing is wrong with. */
export function plainRequests(operation: Operation, service: Service): Arbitrary<Request> {
  return assemble(operation, service, fc.constant(keyHolder(service)), fc.constant([]))
}

function requestsOf(operation: Operation, service: Service): Arbitrary<Request> {
  const one = mutationsOf(operation, service.contract)
  const two = fc.uniqueArray(one, { minLength: 2, maxLength: 2, selector: ({ place }) => place })
  const mutations = fc.oneof(
    { withCrossShrink: true }, // whatever fails is tried without any, too
    { weight: 4, arbitrary: fc.constant<Mutation[]>([]) },
    { weight: 5, arbitrary: fc.tuple(one) },
    { weight: 2, arbitrary: two },
  )
  return assemble(operation, service, callers(service), mutations)
}

function assemble(
  operation: Operation,
  { origin }: Service,
  callerOf: Arbitrary<Caller>,
  mutations: Arbitrary<readonly Mutation[]>,
): Arbitrary<Request> {
  const parts = {
    values: valuesOf(operation),
    body: bodyOf(operation),
    caller: callerOf,
    address: fc.ipV4(),
    mutations,
  }
  return fc.record(parts).map(({ values, body, caller, address, mutations }) => {
    const draft = plainDraft(operation, origin, caller, address)
    for (const { parameter, value } of values) setParameter(draft, parameter, value)
    if (body !== undefined) {
      draft.body = Buffer.from(body.text)
      draft.headers.push(['Content-Type', body.type])
    }
    for (const mutation of mutations) mutation.apply(draft)
    // A key may have come with another request; and what texts are in a list, an object or JSON is not looked into.
    const isOpen = values.some(({ parameter }) => {
      if (!isPlain(parameter)) return true
      return parameter.in === 'query'
        ? isOpaque(parameter.schema)
        : parameter.in === 'header' && operation.isIdempotent
    })
    // What is wrong with a body, say, may be right for the operation of another method.
    const isElsewhere = draft.operation?.id !== '' && draft.operation !== operation
    const applied = isElsewhere
      ? mutations.map((each) => ({ ...each, expected: 'either' as const }))
      : mutations
    return toRequest(draft, applied, expectationOf(operation, caller, isOpen), caller.isValid)
  })
}

function plainDraft(operation: Operation, origin: string, { authorization }: Caller, address: string): Draft {
  const headers: Draft['headers'] = [['Host', new URL(origin).host]]
  if (authorization !== undefined) headers.push(['Authorization', authorization])
  // Callers without a key are counted by address, where the service believes this header.
  headers.push(['X-Forwarded-For', address])
  return {
    operation,
    method: operation.method,
    pathValues: {},
    query: [],
    headers,
    body: undefined,
    version: 'HTTP/1.1',
    chunks: undefined,
    chunkExtension: '',
    retarget: (target) => target,
    framing: undefined,
    isRaw: false,
  }
}

interface Caller {
  readonly authorization: string | undefined
  readonly isValid: boolean
  /** It is, as long as its quota lasts. */
  readonly isLimited?: boolean
}

function keyHolder({ keys }: Service): Caller {
  return { authorization: `Bearer ${keys.open}`, isValid: true }
}

function callers(service: Service): Arbitrary<Caller> {
  const { open, limited, revoked } = service.keys
  const mistyped = `${open.slice(0, -1)}${open.endsWith('x') ? 'y' : 'x'}`
  const tokens = [
    mistyped,
    open.slice(1),
    `${open} ${open}`,
    'a'.repeat(2_000),
    revoked ?? open.toLowerCase(),
    '\xe9',
    '',
  ]
  const others = [undefined, '', 'Bearer', `Basic ${open}`, open, `"Bearer ${open}"`]
  const refused = [...others, ...tokens.map((token) => `Bearer ${token}`)]
  const odd: Caller[] = refused.map((authorization) => ({ authorization, isValid: false }))
  if (limited !== undefined) odd.push({ authorization: `Bearer ${limited}`, isValid: true, isLimited: true })
  const valid = [`bearer ${open}`, `BEARER   ${open}`].map((authorization) => ({
    authorization,
    isValid: true,
  }))
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant(keyHolder(service)) },
    { weight: 1, arbitrary: fc.constantFrom(...valid) },
    { weight: 2, arbitrary: fc.constantFrom(...odd) },
  )
}

function expectationOf(
  { isSecured }: Operation,
  { isValid, isLimited }: Caller,
  isOpen: boolean,
): Expectation {
  if (isSecured && !isValid) return 'refused'
  return isLimited || isOpen ? 'either' : 'done'
}

// Its type says nothing of what it may hold, so the service may refuse any of it.
function isOpaque({ type, enum: values, format, pattern }: Parameter['schema']): boolean {
  return type === 'string' && values === undefined && format === undefined && pattern === undefined
}

function valuesOf({ parameters }: Operation): Arbitrary<{ parameter: Parameter; value: Json }[]> {
  const each = parameters.map((parameter) => {
    const given = validValue(parameter.schema).map((value) => ({ parameter, value }))
    return parameter.required ? given : fc.option(given, { nil: undefined, freq: 2 })
  })
  return fc.tuple(...each).map((values) => values.filter((value) => value !== undefined))
}

function bodyOf({ body }: Operation): Arbitrary<{ type: string; text: string } | undefined> {
  const [first] = body?.schemas ?? []
  if (body === undefined || first === undefined) return fc.constant(undefined)
  const [type, schema] = first
  const given = validValue(schema).map((value) => ({ type, text: String(stringify(value)) }))
  return body.required ? given : fc.option(given, { nil: undefined })
}

// A link that the service gave: it has to work as it is.
function followed(links: readonly string[], service: Service): Arbitrary<Request> {
  const reading = service.contract.operations.filter(({ method }) => method === 'GET')
  return fc.constantFrom(...links).map((link) => {
    const operation = reading.find(({ path }) => path === link.split('?')[0])
    if (operation === undefined) throw new Error(`the link ${link} leads to no operation`)
    const draft = plainDraft(operation, service.origin, keyHolder(service), '192.0.2.1')
    draft.retarget = () => link
    return toRequest(draft, [], 'done', true)
  })
}
