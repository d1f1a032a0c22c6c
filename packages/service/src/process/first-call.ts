// The call that the message at startup proposes. It calls an operation of the contract that needs no facts
// that only a caller knows, and sends a key only if the operation asks for one.

import { credentialPair, credentialUsage, isPublic, type Operation, onlyStreams } from 'contract-engine'
import type { ServiceContract } from '../auth/plans.js'

/** The parts of the contract that the call depends on. */
type Parts = Pick<ServiceContract, 'operations' | 'securitySchemes'>

/**
 * Returns the curl command for an operation that can be called at once, or the needs of the operation that
 * asks for the least. Undefined for a contract without operations.
 * @param root the URL before the prefix of the operations
 * @param ofKeys the schemes whose credentials are the service's own keys
 * @param key the key of a client
 */
export function firstCall(
  contract: Parts,
  root: string,
  ofKeys: ReadonlySet<string>,
  key: string | undefined,
): { readonly curl: string } | { readonly needs: string } | undefined {
  const known = key === undefined ? new Set<string>() : ofKeys
  const rated = [...contract.operations.values()].map((operation) => {
    return { operation, lacks: lacksOf(operation, contract, known) }
  })
  const callable = rated.filter(({ lacks }) => lacks.length === 0).map(({ operation }) => operation)
  const first = callable.find(({ deprecation }) => deprecation === undefined) ?? callable[0]
  if (first !== undefined) return { curl: curlOf(first, contract, root, known, key ?? '') }
  const [least] = rated.sort((one, other) => one.lacks.length - other.lacks.length)
  return least && { needs: `${least.operation.id} needs ${least.lacks.join(' and ')}` }
}

// Returns the facts that a caller has to know or choose.
function lacksOf(operation: Operation, { securitySchemes }: Parts, known: ReadonlySet<string>): string[] {
  const { method, parameters, security } = operation
  const isSafe = method === 'GET' && !onlyStreams(operation)
  const values = parameters.filter(({ required }) => required).filter((each) => onlyValue(each) === undefined)
  const [wanted] = security
  const schemes = wanted?.map(({ name }) => `${credentialUsage(securitySchemes.get(name))} (${name})`) ?? []
  return [
    ...(isSafe ? [] : [method === 'GET' ? 'a reader of streams' : `a ${method} with what it takes`]),
    ...values.map((each) => `the ${each.in} parameter ${each.name}`),
    ...(requirementOf(operation, known) === undefined ? schemes : []),
  ]
}

// Returns the names of the schemes that a call must meet, or an empty list if anybody may call the operation.
function requirementOf(operation: Operation, known: ReadonlySet<string>): readonly string[] | undefined {
  if (isPublic(operation)) return []
  const alternatives = operation.security.map((each) => each.map(({ name }) => name))
  return alternatives.find((names) => names.length === 1 && names.every((name) => known.has(name)))
}

// Returns the only or first value that the contract gives for a parameter.
function onlyValue({ schema, form }: Operation['parameters'][number]): string | undefined {
  const { const: only, enum: values } = schema as { readonly const?: unknown; readonly enum?: unknown }
  const [value] = only === undefined && Array.isArray(values) ? values : [only]
  return form === undefined && ['string', 'number'].includes(typeof value) ? String(value) : undefined
}

function curlOf(
  operation: Operation,
  { securitySchemes }: Parts,
  root: string,
  known: ReadonlySet<string>,
  key: string,
): string {
  const given = operation.parameters.filter(({ required }) => required)
  const pairsIn = (place: string) =>
    given
      .filter((each) => each.in === place)
      .map((each): [name: string, value: string] => [each.name, onlyValue(each) ?? ''])
  const [inQuery, inHeaders, inCookies] = [pairsIn('query'), pairsIn('header'), pairsIn('cookie')]
  for (const scheme of requirementOf(operation, known) ?? []) {
    const definition = securitySchemes.get(scheme)
    const { in: location = '' } = definition?.type === 'apiKey' ? definition : {}
    const place = { query: inQuery, cookie: inCookies }[location] ?? inHeaders
    place.push([...credentialPair(definition, key)])
  }
  const path = pairsIn('path').reduce(
    (text, [name, value]) => text.replace(`{${name}}`, encodeURIComponent(value)),
    operation.prefix + operation.path,
  )
  const search = inQuery.length > 0 ? `?${new URLSearchParams(inQuery)}` : ''
  return [
    "curl -i -w '\\n'",
    ...inHeaders.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(inCookies.length > 0 ? [`-b ${quoted(inCookies.map((pair) => pair.join('=')).join('; '))}`] : []),
    unlessPlain(root + path.replace(/[^\x21-\x7e]+/g, encodeURIComponent) + search),
  ].join(' ')
}

// Quotes a text for a shell.
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function unlessPlain(url: string): string {
  return /^[\w./:@%-]+$/.test(url) ? url : quoted(url)
}
