// Where the operations are mounted: the path of the servers' addresses.

import { type Bump, type Comparison, claimBoth, report, type Spot } from './comparison.js'
import { eachName, isNode, type Node, nodesOf, type Pair } from './node.js'

/** Reports a path that is no longer served, which breaks every caller, or newly served. */
export function compareServers(comparison: Comparison): void {
  const spot = { place: 'servers', where: '' }
  const [before, after] = [serverPaths(comparison.before), serverPaths(comparison.after)]
  const reportPath = (bump: Bump, what: string) =>
    report(comparison, spot, bump, `path ${what}`, comparison, 'servers')
  if (before.join() === after.join()) return
  if (before.length === 1 && after.length === 1) reportPath('major', `${before} -> ${after}`)
  else {
    eachName(before, after, {
      removed: (path) => reportPath('major', `${path} removed`),
      added: (path) => reportPath('minor', `${path} added`),
    })
  }
}

/**
 * Reports an operation that is served elsewhere than before, where it or its path says so by itself (OpenAPI 3.1,
 * section 4.8.10).
 */
export function compareOwnServers(comparison: Comparison, spot: Spot, operation: Pair, item: Pair): void {
  const own = {
    before: operation.before.servers ?? item.before.servers,
    after: operation.after.servers ?? item.after.servers,
  }
  if (own.before === undefined && own.after === undefined) return
  const before = addresses(own.before ?? comparison.before.servers)
  const after = addresses(own.after ?? comparison.after.servers)
  eachName(before, after, {
    removed: (url) => report(comparison, spot, 'major', `server ${url} removed`, operation, 'servers'),
    added: (url) => report(comparison, spot, 'minor', `server ${url} added`, operation, 'servers'),
  })
  claimBoth(comparison, item, 'servers')
}

/** The distinct paths of the servers' addresses, variables at each value they may have; `/` where there is none. */
export function serverPaths(document: Node): string[] {
  const base = 'http://localhost'
  const paths = addresses(document.servers).map((url) =>
    URL.canParse(url, base) ? new URL(url, base).pathname.replace(/(?<=.)\/$/, '') : url,
  )
  return [...new Set(paths)]
}

// With each variable at each of its values.
function addresses(servers: unknown): string[] {
  const list = nodesOf(servers)
  return list.length === 0 ? ['/'] : list.flatMap(({ url, variables }) => filled(String(url), variables))
}

function filled(url: string, variables: unknown): string[] {
  const name = /\{([^}]+)\}/.exec(url)?.[1]
  if (name === undefined) return [url]
  const variable = isNode(variables) ? variables[name] : undefined
  const { default: usual = '', enum: values = [usual] } = isNode(variable) ? variable : {}
  return [values].flat().flatMap((value) =>
    filled(
      url.replace(`{${name}}`, () => String(value)),
      variables,
    ),
  )
}
