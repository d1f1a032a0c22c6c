// Compares limits: sizes and times (`x-limits`), quotas (`x-rate-limits`) and how much an operation uses of
// them (`x-rate-cost`), and how long responses are stored (`x-idempotency`).

import {
  defaultLimits,
  framingOf,
  heldBytesMax,
  keepAliveOf,
  ordersFields,
  Reader,
} from 'contract-engine/tools'
import { claim, report, type Spot } from './comparison.js'
import { describeChange, type Node } from './node.js'
import { child, partOf } from './references.js'
import { compareKeys, compareValue } from './rules.js'

// How many intervals of keep-alives a client waits in a silence: the default of this project's client.
const keepAlivesMax = 4

/** Reports changed limits. A stricter limit is breaking, because it affects clients near the limit. */
export function compareLimits(root: Spot): void {
  compareNumbers(partOf(root, 'x-limits'))
  compareValue(partOf(root, 'x-idempotency'), 'keepHours', (was, is) =>
    typeof was === 'number' && typeof is === 'number' && is < was ? 'major' : 'minor',
  )
  const rates = partOf(root, 'x-rate-limits')
  for (const part of ['anonymous', 'ban']) compareNumbers(child(rates, part, part))
  const plans = child(rates, 'plans')
  const comparePlan = (plan: Spot, name: string) => compareQuotas(plans, plan, name)
  compareKeys(
    plans,
    (name) => `plans.${name}`,
    comparePlan,
    () => 'plan ',
  )
  compareKeys(
    child(rates, 'schemes'),
    (name) => `schemes.${name}`,
    (scheme) => comparePlanOf(scheme, plans),
    () => 'plan of its callers ',
  )
}

/**
 * Reports changed limits of an operation. Its own limits replace the document's, so adding one may change
 * nothing: a body limit equal to the document's, or a cost of one request.
 */
export function compareOwnLimits(operation: Spot): void {
  const { before, after } = operation
  const limits = { ...child(operation, 'x-limits'), where: 'x-limits' }
  compareBodyLimit(operation, limits)
  compareItemLimit(operation, limits)
  compareValue(limits, 'keepAliveMs', (was, is) => {
    const isLost = streamTypesOf(operation).some((mediaType) => isTakenForLost(mediaType, was, is))
    return isLost ? 'major' : 'minor'
  })
  // The service may decide how long an operation takes, and when a stream without items ends.
  for (const name of ['timeoutMs', 'silenceMs']) compareValue(limits, name, () => 'minor')
  const [cost, newCost] = [before, after].map((node) => numberOr(node['x-rate-cost'], 1)) as [number, number]
  if (cost === newCost) claim(operation, 'x-rate-cost')
  else compareValue(operation, 'x-rate-cost', () => (newCost > cost ? 'major' : 'minor'))
}

// True if a client that waits for the previous keep-alives would take the connection for lost.
function isTakenForLost(mediaType: string, was: unknown, is: unknown): boolean {
  const [often, seldom] = [was, is].map((each) => {
    const keepAliveMs = typeof each === 'number' ? each : undefined
    return keepAliveOf(mediaType, { keepAliveMs }).afterMs
  }) as [number, number]
  return seldom > keepAlivesMax * often
}

function streamTypesOf({ before, comparison }: Spot): string[] {
  const reader = new Reader(comparison.documents.before)
  const responses = Object.values(reader.node(before.responses)).map((each) => reader.node(each))
  const types = responses.flatMap(({ content }) => Object.keys(reader.node(content)))
  return types.filter((each) => framingOf(each) !== undefined)
}

// For clients, nothing changes if a body streams. A form is the exception: its files then have to be its last
// parts.
function compareBodyLimit({ before, after, comparison }: Spot, limits: Spot): void {
  const { documents } = comparison
  const [was, is] = [bodyLimit(limits.before, documents.before), bodyLimit(limits.after, documents.after)]
  const isNewlyOrdered = () =>
    ordersFields(new Reader(documents.after), after) && !ordersFields(new Reader(documents.before), before)
  compareValue(limits, 'bodyBytes', () => (is < was || isNewlyOrdered() ? 'major' : 'minor'))
}

// Compares the limit of an item in a stream of items. An item may not be longer than the body, either.
function compareItemLimit({ comparison: { documents } }: Spot, limits: Spot): void {
  const of = (own: Node, document: Node) =>
    Math.min(numberOr(own.itemBytes, heldBytesMax), bodyLimit(own, document))
  const [was, is] = [of(limits.before, documents.before), of(limits.after, documents.after)]
  compareValue(limits, 'itemBytes', () => (is < was ? 'major' : 'minor'))
}

function bodyLimit(own: Node, document: Node): number {
  const ofDocument = numberOr(Object(document['x-limits']).bodyBytes, defaultLimits.bodyBytes)
  return numberOr(own.bodyBytes, ofDocument)
}

// Callers get the quotas of another plan, any of which may be lower.
function comparePlanOf(scheme: Spot, plans: Spot): void {
  compareValue(scheme, 'plan', (before, after) => {
    const [were, are] = [Object(plans.before[String(before)]), Object(plans.after[String(after)])]
    const isLower = Object.keys(were).some((name) => numberOr(are[name], 0) < numberOr(were[name], 0))
    return isLower ? 'major' : 'minor'
  })
  compareValue(scheme, 'claim', (before) => (before === undefined ? 'minor' : 'major'))
}

// To count rejections over a longer time makes a ban more likely.
const stricterWhenHigher = new Set(['withinSeconds', 'banSeconds'])

function compareNumbers(spot: Spot): void {
  for (const name of Object.keys({ ...spot.before, ...spot.after })) {
    compareValue(spot, name, (before, after) => {
      const isStricter = stricterWhenHigher.has(name)
        ? numberOr(before, 0) < numberOr(after, 0)
        : numberOr(before, Number.POSITIVE_INFINITY) > numberOr(after, Number.POSITIVE_INFINITY)
      return isStricter ? 'major' : 'minor'
    })
  }
}

function numberOr(value: unknown, absent: number): number {
  return typeof value === 'number' ? value : absent
}

function compareQuotas(plans: Spot, plan: Spot, name: string): void {
  const [before, after] = [plans.before[name], plans.after[name]]
  if (typeof before === typeof after) compareNumbers(plan)
  // A custom quota may be higher or lower than a fixed one, so a change between them counts as stricter.
  else report({ ...plans, where: plan.where }, 'major', describeChange('quotas', before, after), name)
}
