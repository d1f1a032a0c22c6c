// Reads the extensions of the document: `x-limits` (also of an operation), `x-idempotency` and
// `x-enumStatuses`, each with a default; and those that have readers of their own.

import { constants } from 'node:buffer'
import type { Content, Contract, Operation } from '../../document/contract.js'
import { missingCode } from '../../document/contract-error.js'
import { defaultIdempotency, defaultLimits, heldBytesMax, ownErrorStatuses } from '../../document/defaults.js'
import type { ExtensionReaders, OperationExtensionReaders } from '../../document/extension-readers.js'
import { keepAliveOf } from '../../document/framing.js'
import { operationPlace } from '../../document/methods.js'
import { type Faults, found, type Node, type Reader } from '../../document/reader.js'
import { contentsOf, refusesUnacceptable } from '../../document/responses.js'
import { hasStreams, isStream, takesItems } from '../../kinds/index.js'

/** The extensions of the document that the engine reads. */
export const ownExtensions = ['x-limits', 'x-idempotency'] as const

/** The extensions of a deprecated operation that the engine reads, and below those of any operation. */
export const deprecatedExtensions = ['x-deprecated-at', 'x-sunset', 'x-after-sunset', 'x-successor'] as const
export const operationExtensions = ['x-idempotent', 'x-limits', ...deprecatedExtensions] as const

/**
 * Returns the extensions in which a `$ref` is followed. All others are left alone.
 * @param others the document's extensions that have a reader of their own
 */
export function knownExtensions(others: readonly string[]): readonly string[] {
  return [...ownExtensions, 'x-enumStatuses', ...others]
}

// Below these, the server would refuse every request: a path, a `Host` and a key are longer.
const limitsMin = [
  ['urlBytes', 64],
  ['headerBytes', 256],
] as const

/** Reads `x-limits` of the document, in bytes. */
export function readLimits(reader: Reader): Contract['limits'] {
  const given = { ...defaultLimits, ...reader.node(reader.document['x-limits']) }
  const names = ['bodyBytes', 'urlBytes', 'headerBytes'] as const
  const limits = reader.positiveIntegers('x-limits', given, names)
  for (const [name, min] of limitsMin) {
    if (limits[name] > 0 && limits[name] < min)
      reader.problem(`x-limits: ${name} must be at least ${min}, or no request would pass`)
  }
  const { bodyBytes, urlBytes, headerBytes } = limits
  return { body: bodyBytes, url: urlBytes, header: headerBytes }
}

// The text of an item is a string, and Node's strings are not longer.
const textMax = constants.MAX_STRING_LENGTH

// In less than 100 ms no handler responds reliably. Node's timers allow 24 days; nobody waits for one.
const operationLimits = {
  bodyBytes: { min: 1, max: Number.MAX_SAFE_INTEGER },
  itemBytes: { min: 1, max: textMax },
  timeoutMs: { min: 100, max: 86_400_000 },
  keepAliveMs: { min: 1, max: 86_400_000 },
  silenceMs: { min: 1, max: 86_400_000 },
}

/**
 * Reads `x-limits` of an operation: the limits that the operation sets itself.
 * @param place `POST /pets`
 */
export function readOperationLimits(
  reader: Reader,
  place: string,
  node: Node,
  { body, responses }: Pick<Operation, 'body' | 'responses'>,
): Operation['limits'] {
  const given = reader.node(node['x-limits'])
  const names = Object.keys(operationLimits) as (keyof typeof operationLimits)[]
  const problem = (text: string) => reader.problem(`${place}: x-limits: ${text}`)
  reader.allowOnly(`${place}: x-limits`, given, names)
  for (const name of names.filter((each) => each in given)) {
    const { min, max } = operationLimits[name]
    if (!isWithin(given[name], { min, max })) problem(`${name} must be an integer from ${min} to ${max}`)
  }
  for (const text of found(uselessLimits(given, body, responses))) problem(text)
  if ('keepAliveMs' in given && isAlwaysSilent(responses))
    reader.warn(
      `${place}: x-limits: keepAliveMs has no effect: to readers of JSON Lines and CSV each line is a value`,
    )
  const ofDocument = { ...defaultLimits, ...reader.node(reader.document['x-limits']) }
  const limits = given as Partial<Record<keyof typeof operationLimits, number>>
  const bodyMax = limits.bodyBytes ?? Number(ofDocument.bodyBytes)
  return {
    body: bodyMax,
    item: takesItems(body) ? Math.min(limits.itemBytes ?? heldBytesMax, bodyMax) : undefined,
    timeoutMs: limits.timeoutMs,
    keepAliveMs: limits.keepAliveMs,
    silenceMs: limits.silenceMs,
  }
}

function isWithin(value: unknown, { min, max }: { readonly min: number; readonly max: number }): boolean {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
}

// Refuses limits without an effect: whoever writes one expects it to have one.
function uselessLimits(given: Node, body: Operation['body'], responses: Operation['responses']): Faults {
  const streams = hasStreams(responses)
  return [
    ['bodyBytes' in given && body === undefined, 'bodyBytes requires a requestBody'],
    ['itemBytes' in given && !takesItems(body), 'itemBytes requires a requestBody that is a stream of items'],
    ['keepAliveMs' in given && !streams, 'keepAliveMs requires a response that is a stream of items'],
    ['silenceMs' in given && !streams, 'silenceMs requires a response that is a stream of items'],
  ]
}

// True if the operation has streams, all of them of media types without keep-alives.
function isAlwaysSilent(responses: Operation['responses']): boolean {
  const streams = contentsOf(responses.values()).filter(isStream)
  const isSilent = ({ mediaType }: Content) => keepAliveOf(mediaType, { keepAliveMs: 1 }).afterMs > 1
  return streams.length > 0 && streams.every(isSilent)
}

// Ten years. A much larger interval is out of range for a PostgreSQL timestamp.
const keepHoursMax = 87_600

/** Reads `x-idempotency`. */
export function readIdempotency(reader: Reader): Contract['idempotency'] {
  const given = { ...defaultIdempotency, ...reader.node(reader.document['x-idempotency']) }
  const idempotency = reader.positiveIntegers('x-idempotency', given, ['keepHours'])
  if (idempotency.keepHours > keepHoursMax)
    reader.problem(`x-idempotency: keepHours must be at most ${keepHoursMax}`)
  return idempotency
}

/** Reads the extensions that have readers of their own. */
export function readExtensions(reader: Reader, readers: ExtensionReaders): Readonly<Record<string, unknown>> {
  const given = Object.entries(readers).filter(([name]) => reader.document[name] !== undefined)
  const values = given.map(([name, read]) => {
    return [name, reader.within([name], () => read(reader.document[name], reader))]
  })
  return Object.fromEntries(values)
}

/** Returns the operations with the extensions that have readers of their own. */
export function withExtensions(
  reader: Reader,
  operations: Contract['operations'],
  readers: OperationExtensionReaders,
  ofDocument: Contract['extensions'],
): Contract['operations'] {
  const read = (operation: Operation): Operation => {
    const { definition } = operation
    const given = Object.entries(readers).filter(([name]) => definition[name] !== undefined)
    if (given.length === 0) return operation
    const values = given.map(([name, readValue]) => {
      return [name, readValue(definition[name], reader, operation, ofDocument)]
    })
    return { ...operation, extensions: Object.fromEntries(values) }
  }
  return new Map(
    [...operations].map(([id, operation]) => [
      id,
      reader.within(operationPlace(operation), () => read(operation)),
    ]),
  )
}

/**
 * Reads the error codes: those of the schema `ErrorCode` if it has `x-enumStatuses`, or else the server's
 * own.
 */
export function readErrorStatuses(
  reader: Reader,
  { operations }: Pick<Contract, 'operations'>,
): Pick<Contract, 'describesErrors' | 'errorStatuses'> {
  const schema = reader.node(reader.node(reader.components.schemas).ErrorCode)
  if (schema['x-enumStatuses'] === undefined) {
    return { describesErrors: false, errorStatuses: new Map(Object.entries(ownErrorStatuses)) }
  }
  const codes = Array.isArray(schema.enum) ? schema.enum.map(String) : []
  const statuses = reader.node(schema['x-enumStatuses'])
  for (const code of new Set([...codes, ...Object.keys(statuses)])) {
    if (!codes.includes(code))
      reader.problem(`ErrorCode: x-enumStatuses has ${code}, which is not in the enum`)
    else if (!isErrorStatus(statuses[code]))
      reader.problem(`ErrorCode: x-enumStatuses must map ${code} to a status from 400 to 599`)
  }
  const unsent = unsentCodes([...operations.values()])
  for (const [code, status] of Object.entries(ownErrorStatuses))
    if (!unsent.includes(code) && !codes.includes(code)) reader.problem(missingCode(code, status).text)
  return { describesErrors: true, errorStatuses: new Map(Object.entries(statuses)) as Map<string, number> }
}

// The server's codes that the contract may lack. No operation sends them; or, like the codes of security,
// only mount learns from the application's checks if they are sent.
function unsentCodes(operations: readonly Operation[]): readonly string[] {
  const ends = operations.some(({ deprecation }) => deprecation?.afterSunset === 'gone')
  return [
    ...['missing_credentials', 'invalid_credentials', 'insufficient_scope', 'cross_site_request'],
    ...(ends ? [] : ['operation_gone']),
    ...(operations.some(refusesUnacceptable) ? [] : ['not_acceptable']),
  ]
}

function isErrorStatus(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 400 && (value as number) <= 599
}
