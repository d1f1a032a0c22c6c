// Compares server URLs. Their path is part of the URLs of operations, and is compared with these. The hosts
// of the document's servers are documentation, since a client may have been given another host.

import { claim, report, type Spot } from './comparison.js'
import { eachName, isNode, type Node, nodesOf, type Pair } from './node.js'
import { prefixOf } from './operation-pairs.js'

/** Reports changed servers of the document, without the path that all operations have. */
export function compareServers(root: Spot): void {
  const [removed, added] = [new Set<string>(), new Set<string>()]
  eachName(basesIn(root.before), basesIn(root.after), {
    removed: (url) => removed.add(url),
    added: (url) => added.add(url),
  })
  const reportUrls = (what: string) => report({ ...root, place: 'servers' }, 'patch', what, 'servers')
  if (removed.size === 1 && added.size === 1) reportUrls(`${[...removed]} -> ${[...added]}`)
  else {
    for (const url of removed) reportUrls(`${url} removed`)
    for (const url of added) reportUrls(`${url} added`)
  }
}

/** Reports changed servers of an operation that overrides the document's (OpenAPI 3.1, section 4.8.10). */
export function compareOwnServers(operation: Spot, item: Pair): void {
  const { documents } = operation.comparison
  const before = operation.before.servers ?? item.before.servers
  const after = operation.after.servers ?? item.after.servers
  if (before === undefined && after === undefined) return
  eachName(basesIn(documents.before, before), basesIn(documents.after, after), {
    removed: (url) => report(operation, 'major', `server ${url} removed`, 'servers'),
    added: (url) => report(operation, 'minor', `server ${url} added`, 'servers'),
  })
  claim({ ...operation, ...item }, 'servers')
}

// Returns the server URLs without the path of the first, for every value of their variables.
function basesIn(document: Node, servers: unknown = document.servers): string[] {
  const prefix = prefixOf(document)
  return urlsOf(servers).map((url) => {
    const whole = url.replace(/\/$/, '')
    return (whole.endsWith(prefix) ? whole.slice(0, whole.length - prefix.length) : whole) || '/'
  })
}

// Returns the server URLs, for every value of their variables.
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
