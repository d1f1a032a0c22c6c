// The tables of plans, quotas and costs on the documentation page.

import { rateCost, type ServiceContract } from '../auth/plans.js'

/** Returns the tables of plans and of costly operations. Empty without `x-rate-limits`. */
export function planSections({ hasRateLimits, rateLimits, operations }: ServiceContract) {
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
    ...costSections(operations),
  ]
}

function costSections(operations: ServiceContract['operations']) {
  const costly = [...operations.values()].filter((each) => rateCost(each) > 1)
  if (costly.length === 0) return []
  return [
    {
      title: 'Costs',
      head: ['Operation', 'Counts as requests'],
      rows: costly.map((each) => [`${each.method} ${each.path}`, count(rateCost(each))]),
      text:
        'One that costs more than what is left of a quota is refused, and takes nothing of it. ' +
        'Any other operation counts as one request, as does what is refused for its credential.',
    },
  ]
}

function count(number: number): string {
  return number.toLocaleString('en')
}
