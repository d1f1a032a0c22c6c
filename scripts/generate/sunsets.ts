// Operations past their sunset, or within 90 days of it.

import type { Contract } from '../../src/openapi/index.js'

const dayMs = 86_400_000
const warningDays = 90

/** One line for each operation past its sunset, and one for each within 90 days of it. */
export function sunsets({ operations }: Contract, nowMs: number): { past: string[]; soon: string[] } {
  const past: string[] = []
  const soon: string[] = []
  for (const { id, deprecation } of operations.values()) {
    if (deprecation?.sunset === undefined) continue
    const day = deprecation.sunset.toISOString().slice(0, 10)
    const daysLeft = Math.ceil((deprecation.sunset.getTime() - nowMs) / dayMs)
    if (daysLeft <= 0)
      past.push(`${id} is past its sunset, ${day}: remove it from the contract, or move the date`)
    else if (daysLeft <= warningDays) soon.push(`${id} is to be removed on ${day}, in ${daysLeft} days`)
  }
  return { past, soon }
}
