// Tells which paths the router (find-my-way) takes for an operation, for clients that write them.

import { literalPattern } from '../lib/texts.js'
import type { Contract, Operation } from './contract.js'
import { pathParameterNames } from './names.js'

type Routed = Pick<Operation, 'method' | 'prefix' | 'path' | 'route'>

/**
 * Returns the source of a regular expression with a group for each parameter of a path. It divides the
 * percent-decoded text as the router does. Undefined if each parameter has a segment for itself, so that
 * nothing is to divide.
 */
export function dividedPath({ path, route }: Routed): string | undefined {
  const isAlone = path.split('/').every((each) => /^\{[^{}]+\}$/.test(each) || !each.includes('{'))
  return isAlone || pathParameterNames(path).length === 0 ? undefined : sourceOf(route, '([^/]+)')
}

/**
 * Returns the sources of regular expressions for paths of this operation's form that the router gives to
 * other operations with the same method, or to other parts of the server.
 * @param others paths of other parts of the server, which respond to GET
 */
export function rivalsOf(operation: Routed, contract: Contract, others: readonly string[] = []): string[] {
  const { method, route } = operation
  if (!route.replaceAll('::', '').includes(':')) return []
  const own = decodeURI(operation.prefix)
  const all = [...contract.operations.values()]
    .filter((each) => each.method === method)
    .map((each) => decodeURI(each.prefix) + each.route)
  const routes = [...all, ...(method === 'GET' ? others.map((each) => each.replaceAll(':', '::')) : [])]
  const rivals = routes.filter((each) => each.startsWith(own) && isPreferred(each, own + route))
  return [...new Set(rivals)].map((each) => sourceOf(each.slice(own.length), '[^/]+'))
}

/**
 * Returns the source of a regular expression for the paths of a route: `::` is a literal colon, and a
 * parameter may have a pattern.
 * @param alone the source for a parameter without a pattern
 */
export function sourceOf(route: string, alone: string): string {
  const [text = '', name] = /^(?:::|:(\w+)|[^:]+|:)/.exec(route) ?? []
  if (text === '') return ''
  const rest = route.slice(text.length)
  if (name === undefined) return literalPattern(text === '::' ? ':' : text) + sourceOf(rest, alone)
  const pattern = rest.startsWith('(') ? rest.slice(0, groupLength(rest)) : ''
  return (pattern || alone) + sourceOf(rest.slice(pattern.length), alone)
}

// Returns the length of the group at the start of a pattern.
function groupLength(pattern: string): number {
  let depth = 0
  for (const { 0: mark, index } of pattern.matchAll(/\\.|[()]/g)) {
    if (mark === '(') depth++
    if (mark === ')' && --depth === 0) return index + 1
  }
  return pattern.length
}

// Where two routes part, the router prefers a literal character to a parameter, a parameter with a pattern to
// one without, and of those with a pattern the one with the longer text behind it. Otherwise it prefers the
// route that was added first, so each is a rival of the other.
function isPreferred(other: string, route: string): boolean {
  const [its, own] = [nodesOf(other), nodesOf(route)]
  const at = own.findIndex((each, i) => each !== its[i])
  const [theirs = '', ours = ''] = [its[at], own[at]]
  if (at === -1 || theirs === '' || !ours.startsWith(':')) return false
  if (!theirs.startsWith(':')) return true
  return rankOf(theirs) >= rankOf(ours)
}

// Returns the characters of a route; of each segment, the rest from its first parameter on is one node.
function nodesOf(route: string): string[] {
  return route.split('/').flatMap((segment) => {
    const at = /(?<!:)(?:::)*:(?!:)/.exec(segment)
    const start = at === null ? segment.length : at.index + at[0].length - 1
    const node = segment.slice(start).replace(/:\w+/g, ':')
    return ['/', ...segment.slice(0, start), ...(node === '' ? [] : [node])]
  })
}

function rankOf(node: string): number {
  if (!node.includes('(')) return 0
  return 1 + node.slice(node.lastIndexOf(')') + 1).length
}
