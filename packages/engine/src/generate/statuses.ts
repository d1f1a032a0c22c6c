// The types of statuses, in responses of handlers and of receivers. A response has its own status, or else
// the statuses of its class without those declared by themselves, or else, for `default`, all that remain.

import type { Response } from '../document/contract.js'

/** Returns the responses with the types of their statuses. */
export function statusTypes<Each extends Pick<Response, 'status'>>(
  all: readonly Each[],
): [response: Each, status: string][] {
  const exact = all.filter(({ status }) => /^\d{3}$/.test(status))
  const classes = all.filter(({ status }) => status.endsWith('xx'))
  const statuses = exact.map(({ status }) => status)
  return all.map((each) => {
    const { status } = each
    if (exact.includes(each)) return [each, status]
    if (!classes.includes(each))
      return [each, without('StatusOf<2 | 3 | 4 | 5>', [...statuses, ...classes.map(classOf)])]
    const ofClass = statuses.filter((other) => other[0] === status[0])
    return [each, without(classOf(each), ofClass)]
  })
}

function classOf({ status }: Pick<Response, 'status'>): string {
  return `StatusOf<${status[0]}>`
}

function without(type: string, others: readonly string[]): string {
  return others.length > 0 ? `Exclude<${type}, ${others.join(' | ')}>` : type
}
