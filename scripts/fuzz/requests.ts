// Requests for every operation of the document: as it wants them, and twisted in one place or two.

import fc, { type Arbitrary } from 'fast-check'
import { stringify } from 'lossless-json'
import type { Contract, Operation, Parameter } from './contract.js'
import { type Draft, type Twist, toRequest } from './draft.js'
import type { Expectation, Request } from './request.js'
import { twistsOf } from './twists.js'
import { validText, validValue } from './values.js'

/** Keys of the service under test. */
export interface Keys {
  /** Which no quota stops. */
  readonly open: string
  /** Of which the service may refuse one for its quota, the other for good. */
  readonly limited?: string
  readonly revoked?: string
}

/** Requests to a service at that origin. */
export function requests(
  contract: Contract,
  keys: Keys,
  origin: string,
  links: readonly string[],
): Arbitrary<Request> {
  const made = contract.operations.map((operation) => requestsOf(operation, contract, keys, origin))
  if (links.length === 0) return fc.oneof(...made)
  return fc.oneof(
    { weight: 12, arbitrary: fc.oneof(...made) },
    { weight: 1, arbitrary: followed(links, contract, keys, origin) },
  )
}

/** Requests for one operation that nothing is wrong with. */
export function plainRequests(operation: Operation, { open }: Keys, origin: string): Arbitrary<Request> {
  const caller: Caller = { authorization: `Bearer ${open}`, isValid: true }
  return assemble(operation, origin, fc.constant(caller), fc.constant([]))
}

function requestsOf(
  operation: Operation,
  contract: Contract,
  keys: Keys,
  origin: string,
): Arbitrary<Request> {
  const one = twistsOf(operation, contract)
  const twists = fc.oneof(
    { withCrossShrink: true }, // whatever fails is tried without any, too
    { weight: 4, arbitrary: fc.constant<Twist[]>([]) },
    { weight: 5, arbitrary: fc.tuple(one) },
    {
      weight: 2,
      arbitrary: fc.uniqueArray(one, { minLength: 2, maxLength: 2, selector: ({ place }) => place }),
    },
  )
  return assemble(operation, origin, callers(keys), twists)
}

function assemble(
  operation: Operation,
  origin: string,
  callerOf: Arbitrary<Caller>,
  twists: Arbitrary<readonly Twist[]>,
): Arbitrary<Request> {
  const parts = fc.record({
    parameters: parametersOf(operation),
    body: bodyOf(operation),
    caller: callerOf,
    address: fc.ipV4(),
    twists,
  })
  return parts.map(({ parameters, body, caller, address, twists: chosen }) => {
    const draft = plainDraft(operation, origin, caller, address)
    Object.assign(draft, parameters, { headers: [...draft.headers, ...parameters.headers] })
    if (body !== undefined) {
      draft.body = Buffer.from(body.text)
      draft.headers.push(['Content-Type', body.type])
    }
    for (const twist of chosen) twist.apply(draft)
    const isOpaqueThere = operation.parameters.some(
      ({ name, schema }) => isOpaque(schema) && parameters.query.some((each) => each.startsWith(`${name}=`)),
    )
    const isFree = isOpaqueThere || (operation.isIdempotent && parameters.headers.length > 0)
    const basis = expectationOf(operation, caller, isFree)
    return toRequest(draft, chosen, basis, caller.isValid)
  })
}

function plainDraft(operation: Operation, origin: string, { authorization }: Caller, address: string): Draft {
  return {
    operation,
    method: operation.method,
    pathValues: {},
    query: [],
    headers: [
      ['Host', new URL(origin).host],
      ...(authorization === undefined ? [] : [['Authorization', authorization] as [string, string]]),
      // Callers without a key are counted by address, where the service believes this header.
      ['X-Forwarded-For', address],
    ],
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

function callers({ open, limited, revoked }: Keys): Arbitrary<Caller> {
  const mistyped = `${open.slice(0, -1)}${open.endsWith('x') ? 'y' : 'x'}`
  const refused = [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    `Basic ${open}`,
    open,
    `Bearer ${mistyped}`,
    `Bearer ${open.slice(1)}`,
    `Bearer ${open} ${open}`,
    `Bearer ${'a'.repeat(2_000)}`,
    `Bearer ${revoked ?? open.toLowerCase()}`,
    'Bearer \xe9',
    `"Bearer ${open}"`,
  ]
  const others: Caller[] = refused.map((authorization) => ({ authorization, isValid: false }))
  if (limited !== undefined)
    others.push({ authorization: `Bearer ${limited}`, isValid: true, isLimited: true })
  const valid: Caller[] = [`Bearer ${open}`, `bearer ${open}`, `BEARER   ${open}`].map((authorization) => ({
    authorization,
    isValid: true,
  }))
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant(valid[0] as Caller) },
    { weight: 1, arbitrary: fc.constantFrom(...valid) },
    { weight: 2, arbitrary: fc.constantFrom(...others) },
  )
}

function expectationOf(
  { isSecured }: Operation,
  { isValid, isLimited }: Caller,
  isFree: boolean,
): Expectation {
  if (isSecured && !isValid) return 'refused'
  return isLimited || isFree ? 'either' : 'done'
}

// Its type says nothing of what it may hold, so the service may refuse any of it.
function isOpaque({ type, enum: values, format, pattern }: Parameter['schema']): boolean {
  return type === 'string' && values === undefined && format === undefined && pattern === undefined
}

type Parameters = Pick<Draft, 'pathValues' | 'query' | 'headers'>

function parametersOf({ parameters }: Operation): Arbitrary<Parameters> {
  const each = parameters.map((parameter) => {
    const text = validText(parameter.schema)
    const given = text.map((value) => ({ parameter, value }))
    return parameter.required ? given : fc.option(given, { nil: undefined, freq: 2 })
  })
  return fc.tuple(...each).map((values) => {
    const given = values.filter((value) => value !== undefined)
    const of = (place: Parameter['in']) => given.filter(({ parameter }) => parameter.in === place)
    return {
      pathValues: Object.fromEntries(
        of('path').map(({ parameter, value }) => [parameter.name, encodeURIComponent(value)]),
      ),
      query: of('query').map(({ parameter, value }) => `${parameter.name}=${encodeURIComponent(value)}`),
      headers: of('header').map(({ parameter, value }) => [parameter.name, value]),
    }
  })
}

function bodyOf({ body }: Operation): Arbitrary<{ type: string; text: string } | undefined> {
  const [type, schema] = [...(body?.schemas ?? [])][0] ?? []
  if (body === undefined || type === undefined || schema === undefined) return fc.constant(undefined)
  const given = validValue(schema).map((value) => ({ type, text: String(stringify(value)) }))
  return body.required ? given : fc.option(given, { nil: undefined })
}

// A link that the service gave: it has to work as it is.
function followed(
  links: readonly string[],
  { operations }: Contract,
  { open }: Keys,
  origin: string,
): Arbitrary<Request> {
  return fc.constantFrom(...links).map((link) => {
    const operation = operations.find(({ method, path }) => method === 'GET' && path === link.split('?')[0])
    const caller: Caller = { authorization: `Bearer ${open}`, isValid: true }
    const draft = plainDraft(operation as Operation, origin, caller, '192.0.2.1')
    draft.retarget = () => link
    return toRequest(draft, [], 'done', true)
  })
}
