// Server URLs. Only the paths of the document's servers are compared; a changed host is reported as documentation.

import { type Bump, type Comparison, claimBoth, report, type Spot } from './comparison.js'
import { eachName, isNode, type Node, nodesOf, type Pair } from './node.js'

/** Reports removed server paths, which break every client, and added ones. */
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
 * Reports changed servers of an operation, if it or its path item overrides those of the document (OpenAPI 3.1, section 4.8.10).
 */
export function compareOwnServers(comparison: Comparison, spot: Spot, operation: Pair, item: Pair): void {
  const own = {
    before: operation.before.servers ?? item.before.servers,
    after: operation.after.servers ?? item.after.servers,
  }
  if (own.before === undefined && own.after === undefined) return
  const before = urlsOf(own.before ?? comparison.before.servers)
  const after = urlsOf(own.after ?? comparison.after.servers)
  eachName(before, after, {
    removed: (url) => report(comparison, spot, 'major', `server ${url} removed`, operation, 'servers'),
    added: (url) => report(comparison, spot, 'minor', `server ${url} added`, operation, 'servers'),
  })
  claimBoth(comparison, item, 'servers')
}

/** The distinct paths of the server URLs, for every value of their variables; `/` without servers. */
export function serverPaths(document: Node): string[] {
  const base = 'http://localhost'
  const paths = urlsOf(document.servers).map((url) =>
    URL.canParse(url, base) ? new URL(url, base).pathname.replace(/(?<=.)\/$/, '') : url,
  )
  return [...new Set(paths)]
}

// The server URLs, for every value of their variables.
function urlsOf(servers: unknown): string[] {
  const list = nodesOf(servers)
  return list.length === 0 ? ['/'] : list.flatMap(({ url, variables }) => substituted(String(url), variables))
}

function substituted(url: string, variables: unknown): string[] {
  const name = /\{([^}]+)\}/.exec(url)?.[1]
  if (name === undefined) return [url]
  const variable = isNode(variables) ? variables[name] : undefined
  const { default: value = '', enum: values = [value] } = isNode(variable) ? variable : {}
  return [values].flat().flatMap((value) =>
    substituted(
      url.replace(`{${name}}`, () => String(value)),
      variables,
    ),
  )
}
