// The table of plans and quotas on the documentation page.

import type { ServiceContract } from '../auth/plans.js'

/** The plans of the contract; nothing without `x-rate-limits`. */
export function planSections({ hasRateLimits, rateLimits }: ServiceContract) {
  if (!hasRateLimits) return []
  const { plans, anonymous, ban } = rateLimits
  const rows = [...plans].map(([name, quota]) =>
    quota === 'custom'
      ? [name, 'set per key', 'set per key']
      : [name, count(quota.perMinute), count(quota.perDay)],
  )
  return [
    {
      title: 'Plans and quotas',
      head: ['Plan', 'Requests per minute', 'Requests per day'],
      rows: [...rows, ['no valid key, per address', count(anonymous.perMinute), '']],
      text:
        `A key with rejected requests in more than ${count(ban.rejections)} seconds of ` +
        `${count(ban.withinSeconds)} is banned for ${count(ban.banSeconds)} seconds.`,
    },
  ]
}

function count(number: number): string {
  return number.toLocaleString('en')
}
