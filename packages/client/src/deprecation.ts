// Warns about deprecated operations.

import { linkTo } from './links.js'
import type { CalledOperation } from './table.js'

/**
 * Returns a function that warns once about each deprecated operation (RFC 9745), with its sunset (RFC 8594)
 * and successor.
 */
export function createDeprecationWarner(
  warn: (message: string) => void,
): (operation: Pick<CalledOperation, 'id' | 'successor'>, headers: Headers) => void {
  const warned = new Set<string>()
  return ({ id, successor: known }, headers) => {
    const since = /^@(-?\d+)/.exec(headers.get('Deprecation') ?? '')?.[1]
    if (since === undefined || warned.has(id)) return
    warned.add(id)
    const sunset = Date.parse(headers.get('Sunset') ?? '')
    const successor = known ?? linkTo('successor-version', headers.get('Link'))
    const parts = [
      `${id} has been deprecated since ${day(Number(since) * 1000)}`,
      Number.isNaN(sunset) ? '' : ` and will be removed on ${day(sunset)}`,
      successor === undefined ? '' : `; use ${successor} instead`,
    ]
    warn(`${parts.join('')}.`)
  }
}

function day(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
