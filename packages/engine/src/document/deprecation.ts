// The deprecation of an operation: since when, its sunset, what happens then, and its successor (RFC 9745,
// RFC 8594).

import type { Contract, Deprecation } from './contract.js'
import type { Node, Reader } from './reader.js'

/**
 * Reads the deprecation of an operation. Returns undefined without `x-deprecated-at`, since RFC 9745 requires
 * a date.
 */
export function readDeprecation(reader: Reader, place: string, operation: Node): Deprecation | undefined {
  const deprecatedAt = readDate(reader, place, 'x-deprecated-at', operation)
  const sunset = readDate(reader, place, 'x-sunset', operation)
  if (operation['x-deprecated-at'] === undefined) {
    const dependent = ['x-sunset', 'x-after-sunset', 'x-successor'].find(
      (name) => operation[name] !== undefined,
    )
    if (dependent !== undefined) reader.problem(`${place}: ${dependent} requires x-deprecated-at`)
  }
  if (deprecatedAt === undefined) return undefined
  if (sunset !== undefined && sunset < deprecatedAt)
    reader.problem(`${place}: x-sunset is before x-deprecated-at`)
  const { 'x-after-sunset': afterSunset = 'serve', 'x-successor': successor } = operation
  if (afterSunset !== 'serve' && afterSunset !== 'gone')
    reader.problem(`${place}: x-after-sunset must be serve or gone`)
  if (sunset === undefined && operation['x-after-sunset'] !== undefined)
    reader.problem(`${place}: x-after-sunset requires x-sunset`)
  // checkDeprecations checks the successor
  return { deprecatedAt, sunset, afterSunset, successor } as Deprecation
}

const dayMs = 86_400_000
const warningDays = 90

/**
 * Returns a line for each operation that is still served past its sunset, and a line for each that responds
 * 410 or is within 90 days of its sunset.
 */
export function sunsets(
  { operations }: Pick<Contract, 'operations'>,
  nowMs: number,
): { past: string[]; soon: string[] } {
  const past: string[] = []
  const soon: string[] = []
  for (const { id, deprecation } of operations.values()) {
    if (deprecation?.sunset === undefined) continue
    const { sunset, afterSunset } = deprecation
    const day = sunset.toISOString().slice(0, 10)
    const daysLeft = Math.ceil((sunset.getTime() - nowMs) / dayMs)
    if (daysLeft > warningDays) continue
    if (daysLeft > 0)
      soon.push(`${id} is to be removed on ${day}, in ${daysLeft} ${daysLeft === 1 ? 'day' : 'days'}`)
    else if (afterSunset === 'gone')
      soon.push(`${id} responds 410 since its sunset, ${day}: remove it from the contract`)
    else past.push(`${id} is past its sunset, ${day}: remove it from the contract, or move the date`)
  }
  return { past, soon }
}

// Reads a full-date (RFC 3339) as the first instant of that day in UTC.
function readDate(reader: Reader, place: string, key: string, operation: Node): Date | undefined {
  const value = operation[key]
  if (value === undefined) return undefined
  const date = new Date(`${value}T00:00:00Z`)
  // JavaScript rolls 2031-02-30 over into March, so the texts are compared.
  if (!Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${value}T`)) return date
  reader.problem(`${place}: ${key} must be a date like 2030-12-05`)
  return undefined
}
