// Generates requests for every operation of the contract: valid, and with one or two mutations.

import fc, { type Arbitrary } from 'fast-check'
import { stringify } from 'lossless-json'
import type { Contract, Operation, Parameter } from './contract.js'
import { type Draft, type Mutation, toRequest } from './draft.js'
import { mutationsOf } from './mutations.js'
import { isPlain, setParameter } from './parameters.js'
import type { Expectation, Request } from './request.js'
import { type Json, validValue } from './values.js'

/** API keys of the service under test. */
export interface Keys {
  /** Its quotas are never used up. */
  readonly open: string
  /** Its quotas may be used up. */
  readonly limited?: string
  readonly revoked?: string
}

/** A running service. */
export interface Target {
  readonly origin: string
  readonly keys: Keys
}

/** The service under test. */
export interface Service extends Target {
  readonly contract: Contract
}

/** Requests for all operations, and for links that the service returned. */
export function requests(service: Service, links: readonly string[]): Arbitrary<Request> {
  const generated = fc.oneof(
    ...service.contract.operations.map((operation) => requestsOf(operation, service)),
  )
  if (links.length === 0) return generated
  return fc.oneof(
    { weight: 12, arbitrary: generated },
    { weight: 1, arbitrary: linkRequests(links, service) },
  )
}

/** Valid requests for one operation. */
export function validRequests(operation: Operation, service: Service): Arbitrary<Request> {
  return assemble(operation, service, fc.constant(keyHolder(service)), fc.constant([]))
}

function requestsOf(operation: Operation, service: Service): Arbitrary<Request> {
  const one = mutationsOf(operation, service.contract)
  const two = fc.uniqueArray(one, { minLength: 2, maxLength: 2, selector: ({ part }) => part })
  const mutations = fc.oneof(
    { withCrossShrink: true }, // a failure also shrinks to no mutation at all
    { weight: 4, arbitrary: fc.constant<Mutation[]>([]) },
    { weight: 5, arbitrary: fc.tuple(one) },
    { weight: 2, arbitrary: two },
  )
  return assemble(operation, service, callers(service), mutations)
}

function assemble(
  operation: Operation,
  { origin }: Service,
  caller: Arbitrary<Caller>,
  mutations: Arbitrary<readonly Mutation[]>,
): Arbitrary<Request> {
  const parts = {
    values: valuesOf(operation),
    body: bodyOf(operation),
    caller,
    address: fc.ipV4(),
    mutations,
  }
  return fc.record(parts).map(({ values, body, caller, address, mutations }) => {
    const draft = newDraft(operation, origin, caller, address)
    for (const { parameter, value } of values) setParameter(draft, parameter, value)
    if (body !== undefined) {
      draft.body = Buffer.from(body.text)
      draft.headers.push(['Content-Type', body.type])
    }
    for (const mutation of mutations) mutation.apply(draft)
    // An error is possible if an Idempotency-Key was sent before with another request, and for lists, objects and JSON in parameters,
    // whose texts are not examined.
    const mayFail = values.some(({ parameter }) => {
      if (!isPlain(parameter)) return true
      return parameter.in === 'query'
        ? isOpaque(parameter.schema)
        : parameter.in === 'header' && operation.isIdempotent
    })
    // A mutation of the method may lead to another operation, for which the other mutation is valid.
    const isRerouted = draft.operation?.id !== '' && draft.operation !== operation
    const applied = isRerouted
      ? mutations.map((each) => ({ ...each, expected: 'either' as const }))
      : mutations
    return toRequest(draft, applied, expectationOf(operation, caller, mayFail), caller.isValid)
  })
}

function newDraft(operation: Operation, origin: string, { authorization }: Caller, address: string): Draft {
  const headers: Draft['headers'] = [['Host', new URL(origin).host]]
  if (authorization !== undefined) headers.push(['Authorization', authorization])
  // Spreads callers without a key over many addresses, by which they are rate-limited (with TRUST_PROXY).
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
  /** Whether its quota may be used up. */
  readonly isLimited?: boolean
}

function keyHolder({ keys }: Service): Caller {
  return { authorization: `Bearer ${keys.open}`, isValid: true }
}

function callers(service: Service): Arbitrary<Caller> {
  const { open, limited, revoked } = service.keys
  const unknown = `${open.slice(0, -1)}${open.endsWith('x') ? 'y' : 'x'}`
  const malformed = [open.slice(1), `${open} ${open}`, 'a'.repeat(2_000), '\xe9', '']
  const tokens = [unknown, revoked ?? open.toLowerCase(), ...malformed]
  const others = [undefined, '', 'Bearer', `Basic ${open}`, open, `"Bearer ${open}"`]
  const invalid = [...others, ...tokens.map((token) => `Bearer ${token}`)]
  const unusual: Caller[] = invalid.map((authorization) => ({ authorization, isValid: false }))
  if (limited !== undefined)
    unusual.push({ authorization: `Bearer ${limited}`, isValid: true, isLimited: true })
  const valid = [`bearer ${open}`, `BEARER   ${open}`].map((authorization) => ({
    authorization,
    isValid: true,
  }))
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant(keyHolder(service)) },
    { weight: 1, arbitrary: fc.constantFrom(...valid) },
    { weight: 2, arbitrary: fc.constantFrom(...unusual) },
  )
}

function expectationOf(
  { isSecured }: Operation,
  { isValid, isLimited }: Caller,
  mayFail: boolean,
): Expectation {
  if (isSecured && !isValid) return 'rejected'
  return isLimited || mayFail ? 'either' : 'accepted'
}

// A string without further constraints, such as a cursor: the service may reject any value of it.
function isOpaque({ type, enum: values, format, pattern }: Parameter['schema']): boolean {
  return type === 'string' && values === undefined && format === undefined && pattern === undefined
}

function valuesOf({ parameters }: Operation): Arbitrary<{ parameter: Parameter; value: Json }[]> {
  const each = parameters.map((parameter) => {
    const present = validValue(parameter.schema).map((value) => ({ parameter, value }))
    return parameter.required ? present : fc.option(present, { nil: undefined, freq: 2 })
  })
  return fc.tuple(...each).map((values) => values.filter((value) => value !== undefined))
}

function bodyOf({ body }: Operation): Arbitrary<{ type: string; text: string } | undefined> {
  const [first] = body?.schemas ?? []
  if (body === undefined || first === undefined) return fc.constant(undefined)
  const [type, schema] = first
  const present = validValue(schema).map((value) => ({ type, text: String(stringify(value)) }))
  return body.required ? present : fc.option(present, { nil: undefined })
}

// A link that the service returned must work as it is.
function linkRequests(links: readonly string[], service: Service): Arbitrary<Request> {
  const reading = service.contract.operations.filter(({ method }) => method === 'GET')
  return fc.constantFrom(...links).map((link) => {
    const operation = reading.find(({ path }) => path === link.split('?')[0])
    if (operation === undefined) throw new Error(`the link ${link} leads to no operation`)
    const draft = newDraft(operation, service.origin, keyHolder(service), '192.0.2.1')
    draft.retarget = () => link
    return toRequest(draft, [], 'accepted', true)
  })
}
