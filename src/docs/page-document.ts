// The contract as the page shows it: what stands in numbers and extensions becomes tables, and nothing is filled in that would do harm.

import { stringify } from 'lossless-json'
import type { Contract, Operation } from '../contract/types.js'

type Node = Readonly<Record<string, unknown>>

/** The document for the page alone, as JSON. */
export function pageDocument(contract: Contract): string {
  const document = contract.document as Node & { readonly info: Node }
  const description = [document.info.description ?? '', ...sections(contract)].join('\n\n')
  // The page may speak to its own origin alone, whatever servers the contract names beside it.
  const servers = [{ url: contract.prefix || '/', description: 'This service' }]
  const shown = { ...document, info: { ...document.info, description }, servers }
  return stringify(shown, withoutOptionalExamples) ?? ''
}

// The example of an optional parameter would be sent: a filter that nobody asked for, or, of an `Idempotency-Key`, the key of an earlier request.
function withoutOptionalExamples(_key: string, value: unknown): unknown {
  const { in: location, required, example, examples, ...others } = (value ?? {}) as Node
  const isOptional = ['query', 'header', 'cookie'].includes(String(location)) && required !== true
  return isOptional && (example ?? examples) !== undefined ? { ...others, in: location } : value
}

function sections(contract: Contract): readonly string[] {
  const { hasRateLimits, rateLimits, limits, idempotency, operations } = contract
  const all = [...operations.values()]
  const { plans, anonymous, ban } = rateLimits
  const quotas = [...plans].map(([name, quota]) =>
    quota === 'custom'
      ? [name, 'agreed per key', 'agreed per key']
      : [name, count(quota.perMinute), count(quota.perDay)],
  )
  return [
    'The contract itself: [openapi.yaml](openapi.yaml), [openapi.json](openapi.json), [in OpenAPI 3.0](openapi-3.0.yaml).',
    ...(hasRateLimits
      ? [
          '## Plans and quotas',
          table(
            ['plan', 'requests a minute', 'requests a day'],
            [...quotas, ['no valid key, by address', count(anonymous.perMinute), '']],
          ),
          `A key with more than ${count(ban.rejections)} rejections within ${count(ban.withinSeconds)} seconds is banned for ${count(ban.banSeconds)} seconds.`,
        ]
      : []),
    '## Limits',
    table(
      ['what', 'limit'],
      [
        ['body', `${count(limits.body)} bytes`],
        ['URL', `${count(limits.url)} bytes`],
        ['header section', `${count(limits.header)} bytes`],
        ...(all.some(({ isIdempotent }) => isIdempotent)
          ? [['first answer to an Idempotency-Key is kept', `${count(idempotency.keepHours)} hours`]]
          : []),
      ],
    ),
    '## Error codes',
    table(['code and status', 'meaning'], errors(contract)),
    ...deprecations(all, contract),
  ]
}

function errors({ errorStatuses, document }: Contract): string[][] {
  const { components } = document as { components?: { schemas?: { ErrorCode?: Node } } }
  const meanings = (components?.schemas?.ErrorCode?.['x-enumDescriptions'] ?? {}) as Node
  return [...errorStatuses].map(([code, status]) => [`\`${code}\` ${status}`, String(meanings[code] ?? '')])
}

function deprecations(all: readonly Operation[], { prefix }: Contract): readonly string[] {
  const rows = all.flatMap(({ deprecation, method, path }) => {
    if (deprecation === undefined) return []
    const { deprecatedAt, sunset, successor } = deprecation
    return [
      [
        `\`${method} ${prefix}${path}\``,
        day(deprecatedAt),
        sunset ? day(sunset) : '',
        successor ? `\`${successor}\`` : '',
      ],
    ]
  })
  return rows.length > 0
    ? ['## Deprecations', table(['operation', 'deprecated', 'ends', 'use instead'], rows)]
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
