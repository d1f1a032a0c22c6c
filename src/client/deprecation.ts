// Tells of deprecated operations, once each.

import { linkTo } from './links.js'

/** Looks at the headers of an operation's answer. */
export type NoticeDeprecation = (operation: string, headers: Headers) => void

/** Makes what warns when an operation is deprecated (RFC 9745), of its sunset (RFC 8594) and successor. */
export function createNotice(warn: (message: string) => void): NoticeDeprecation {
  const told = new Set<string>()
  return (operation, headers) => {
    const since = /^@(-?\d+)/.exec(headers.get('Deprecation') ?? '')?.[1]
    if (since === undefined || told.has(operation)) return
    told.add(operation)
    const sunset = Date.parse(headers.get('Sunset') ?? '')
    const successor = linkTo('successor-version', headers.get('Link'))
    const parts = [
      `${operation} is deprecated since ${day(Number(since) * 1000)}`,
      Number.isNaN(sunset) ? '' : ` and ends on ${day(sunset)}`,
      successor === undefined ? '' : `; use ${successor} instead`,
    ]
    warn(`${parts.join('')}.`)
  }
}

function day(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
