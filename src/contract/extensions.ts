// The document's own extensions (`x-limits`, `x-rate-limits`, `x-idempotency`, `x-enumStatuses`). A document without one gets the
// default.

import { defaultErrorStatuses, defaultIdempotency, defaultLimits, unlimited } from './defaults.js'
import type { Node, Reader } from './reader.js'
import type { Contract, Quotas, RateLimits } from './types.js'

/** Those whose value the server reads and which may be a `$ref`; the others are a date, a name, a flag or not its own. */
export const knownExtensions = ['x-limits', 'x-idempotency', 'x-rate-limits', 'x-enumStatuses']

// Below these, the server refuses every request: a path, a `Host` and a key are longer.
const limitsMin = { urlBytes: 64, headerBytes: 256 } as const

/** `x-limits`, in bytes. */
export function readLimits(reader: Reader): Contract['limits'] {
  const given = { ...defaultLimits, ...reader.node(reader.document['x-limits']) }
  const names = ['bodyBytes', 'urlBytes', 'headerBytes'] as const
  const limits = reader.counts('x-limits', given, names)
  for (const name of ['urlBytes', 'headerBytes'] as const) {
    const min = limitsMin[name]
    if (limits[name] > 0 && limits[name] < min)
      reader.problem(`x-limits: ${name} must be at least ${min}, or no request would pass`)
  }
  const { bodyBytes, urlBytes, headerBytes } = limits
  return { body: bodyBytes, url: urlBytes, header: headerBytes }
}

// Ten years: much longer ago, and PostgreSQL has no date for it.
const keepHoursMax = 87_600

/** `x-idempotency`. */
export function readIdempotency(reader: Reader): Contract['idempotency'] {
  const given = { ...defaultIdempotency, ...reader.node(reader.document['x-idempotency']) }
  const idempotency = reader.counts('x-idempotency', given, ['keepHours'])
  if (idempotency.keepHours > keepHoursMax)
    reader.problem(`x-idempotency: keepHours must be at most ${keepHoursMax}`)
  return idempotency
}

/** `x-rate-limits`. */
export function readRateLimits(reader: Reader): Pick<Contract, 'isMetered' | 'rateLimits'> {
  const given = reader.document['x-rate-limits']
  if (given === undefined) return { isMetered: false, rateLimits: unlimited }
  const limits = reader.node(given)
  reader.only('x-rate-limits', limits, ['plans', 'anonymous', 'ban'])
  const anonymous = reader.counts('x-rate-limits: anonymous', limits.anonymous, ['perMinute'])
  const names = ['rejections', 'withinSeconds', 'banSeconds'] as const
  const ban = reader.counts('x-rate-limits: ban', limits.ban, names)
  return {
    isMetered: true,
    rateLimits: { plans: plansOf(reader, reader.node(limits.plans)), anonymous, ban },
  }
}

function plansOf(reader: Reader, plans: Node): RateLimits['plans'] {
  for (const [name, plan] of Object.entries(plans)) {
    if (plan !== 'custom') reader.counts(`x-rate-limits: plan ${name}`, plan, ['perMinute', 'perDay'])
  }
  if (Object.keys(plans).length === 0) reader.problem('x-rate-limits names no plans')
  return new Map(Object.entries(plans)) as Map<string, Quotas | 'custom'>
}

/** The codes of errors: the schema `ErrorCode`, if its `x-enumStatuses` give them statuses. */
export function readErrorStatuses(reader: Reader): Pick<Contract, 'describesErrors' | 'errorStatuses'> {
  const schema = reader.node(reader.node(reader.components.schemas).ErrorCode)
  if (schema['x-enumStatuses'] === undefined) {
    return { describesErrors: false, errorStatuses: new Map(Object.entries(defaultErrorStatuses)) }
  }
  const codes = Array.isArray(schema.enum) ? schema.enum.map(String) : []
  const statuses = reader.node(schema['x-enumStatuses'])
  for (const code of new Set([...codes, ...Object.keys(statuses)])) {
    if (!codes.includes(code)) reader.problem(`ErrorCode: ${code} has a status but is not in the enum`)
    else if (!isErrorStatus(statuses[code]))
      reader.problem(`ErrorCode: x-enumStatuses gives ${code} no status from 400 to 599`)
  }
  for (const code of Object.keys(defaultErrorStatuses)) {
    if (!codes.includes(code)) reader.problem(`ErrorCode lacks ${code}, which the server answers with`)
  }
  if (reader.node(reader.components.schemas).Error === undefined)
    reader.problem('ErrorCode is there, but not the schema Error that it is for')
  return { describesErrors: true, errorStatuses: new Map(Object.entries(statuses)) as Map<string, number> }
}

function isErrorStatus(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 400 && (value as number) <= 599
}
