// Server URLs. Only their paths are compared; a changed host is reported as documentation.

import { type Bump, claim, report, type Spot } from './comparison.js'
import { eachName, isNode, type Node, nodesOf, type Pair } from './node.js'

/** Reports removed server paths, which break every client, and added ones. */
export function compareServers(root: Spot): void {
  const [before, after] = [serverPaths(root.before), serverPaths(root.after)]
  const reportPath = (bump: Bump, what: string) =>
    report({ ...root, place: 'servers' }, bump, `path ${what}`, 'servers')
  if (before.join() === after.join()) return
  if (before.length === 1 && after.length === 1) reportPath('major', `${before} -> ${after}`)
  else {
    eachName(before, after, {
      removed: (path) => reportPath('major', `${path} removed`),
      added: (path) => reportPath('minor', `${path} added`),
    })
  }
}

/** Reports changed servers of an operation that overrides the document's (OpenAPI 3.1, section 4.8.10). */
export function compareOwnServers(operation: Spot, item: Pair): void {
  const { documents } = operation.comparison
  const before = operation.before.servers ?? item.before.servers
  const after = operation.after.servers ?? item.after.servers
  if (before === undefined && after === undefined) return
  eachName(urlsOf(before ?? documents.before.servers), urlsOf(after ?? documents.after.servers), {
    removed: (url) => report(operation, 'major', `server ${url} removed`, 'servers'),
    added: (url) => report(operation, 'minor', `server ${url} added`, 'servers'),
  })
  claim({ ...operation, ...item }, 'servers')
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
