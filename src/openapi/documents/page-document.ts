// The contract as `/docs` shows it, for people: its description gains tables of plans, limits, error codes
// and deprecations, a deprecated operation its dates, a pattern is in words, and optional parameters lose
// their examples.

import { stringify } from 'lossless-json'
import type { Contract, Operation } from '../contract/contract.js'
import type { Node } from '../contract/reader.js'
import { ownServer } from './contract-files.js'

/** Returns the contract's document, adapted to the page, as JSON. */
export function pageDocument(contract: Contract): string {
  const document = contract.document as Node & { readonly info: Node }
  const description = [document.info.description ?? '', ...sections(contract)].join('\n\n')
  // The page's Content-Security-Policy allows requests to its own origin only, whatever servers the contract
  // names.
  const servers = [ownServer(contract)]
  const shown = { ...document, info: { ...document.info, description }, servers }
  return stringify(shown, (_key, value) => withoutOptionalExamples(inWords(withDates(value, contract)))) ?? ''
}

// Scalar would send an optional parameter's example: an unwanted filter, or an `Idempotency-Key` that an
// earlier request has used.
function withoutOptionalExamples(value: unknown): unknown {
  const { in: location, required, example, examples, ...others } = (value ?? {}) as Node
  const isOptional = ['query', 'header', 'cookie'].includes(String(location)) && required !== true
  return isOptional && (example ?? examples) !== undefined ? { ...others, in: location } : value
}

function withDates(value: unknown, contract: Contract): unknown {
  const { deprecated, description = '', ...others } = (value ?? {}) as Node
  const { 'x-deprecated-at': since, 'x-sunset': sunset, 'x-successor': successor } = others
  if (deprecated !== true || since === undefined) return value
  const dates = [
    `Deprecated since ${since}.`,
    ...(sunset === undefined ? [] : [`It will be removed on ${sunset}.`]),
    ...(successor === undefined ? [] : [`Use ${shownOperation(String(successor), contract)} instead.`]),
  ]
  return { ...others, deprecated, description: `**${dates.join(' ')}**\n\n${description}` }
}

function inWords(value: unknown): unknown {
  const { pattern, 'x-pattern-description': words, description = '', ...others } = (value ?? {}) as Node
  if (typeof words !== 'string') return value
  const { not, ...rest } = others // a pattern may be negated twice, to hide it from tools
  return {
    ...(pattern === undefined ? rest : others),
    description: `${description} It must be ${words}.`.trim(),
  }
}

function shownOperation(id: string, { operations, prefix }: Contract): string {
  const { method, path } = operations.get(id) ?? {}
  return `\`${method} ${prefix}${path}\`` // the contract has been checked
}

function sections(contract: Contract): readonly string[] {
  const all = [...contract.operations.values()]
  return [
    '## OpenAPI document',
    '[openapi.yaml](openapi.yaml), [openapi.json](openapi.json), ' +
      '[openapi-3.0.yaml](openapi-3.0.yaml) (for tools that do not support 3.1).',
    ...(contract.hasRateLimits ? quotas(contract.rateLimits) : []),
    '## Limits',
    table(['Request', 'Limit'], limits(all, contract)),
    '## Error codes',
    table(['Code and status', 'Meaning'], errors(contract)),
    ...deprecations(all, contract),
  ]
}

function quotas({ plans, anonymous, ban }: Contract['rateLimits']): string[] {
  const rows = [...plans].map(([name, quota]) =>
    quota === 'custom'
      ? [name, 'set per key', 'set per key']
      : [name, count(quota.perMinute), count(quota.perDay)],
  )
  rows.push(['no valid key, per address', count(anonymous.perMinute), ''])
  return [
    '## Plans and quotas',
    table(['Plan', 'Requests per minute', 'Requests per day'], rows),
    `A key with more than ${count(ban.rejections)} rejected requests within ` +
      `${count(ban.withinSeconds)} seconds is banned for ${count(ban.banSeconds)} seconds.`,
  ]
}

function limits(
  all: readonly Operation[],
  { limits: { body, url, header }, idempotency }: Contract,
): string[][] {
  const rows = [
    ['body', `${count(body)} bytes`],
    ['URL', `${count(url)} bytes`],
    ['header section', `${count(header)} bytes`],
  ]
  const stored = ['Idempotency-Key', `response stored for ${count(idempotency.keepHours)} hours`]
  return all.some(({ isIdempotent }) => isIdempotent) ? [...rows, stored] : rows
}

function errors({ errorStatuses, document }: Contract): string[][] {
  const { components } = document as { components?: { schemas?: { ErrorCode?: Node } } }
  const meanings = (components?.schemas?.ErrorCode?.['x-enumDescriptions'] ?? {}) as Node
  return [...errorStatuses].map(([code, status]) => [`\`${code}\` ${status}`, String(meanings[code] ?? '')])
}

function deprecations(all: readonly Operation[], contract: Contract): readonly string[] {
  const rows = all.flatMap(({ deprecation, id }) => {
    if (deprecation === undefined) return []
    const { deprecatedAt, sunset, successor } = deprecation
    return [
      [
        shownOperation(id, contract),
        day(deprecatedAt),
        sunset ? day(sunset) : '',
        successor ? shownOperation(successor, contract) : '',
      ],
    ]
  })
  return rows.length > 0
    ? ['## Deprecated operations', table(['Operation', 'Since', 'Sunset', 'Successor'], rows)]
    : []
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replace(/\|/g, '\\|').replace(/\s+/g, ' ')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function count(number: number): string {
  return number.toLocaleString('en')
}

function day(date: Date): string {
  return date.toISOString().slice(0, 10)
}
