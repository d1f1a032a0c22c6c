// Reads Server Objects: the path of their URLs is the prefix of operations. Their hosts matter only to
// clients.

import { type Node, nodesOf, type Reader } from '../../document/reader.js'

/** Returns the path of the document's servers; if they differ, the path of the first, with a warning. */
export function readPrefix(reader: Reader): string {
  return prefixOf(
    reader,
    reader.document,
    (others, prefix) =>
      `servers: the path ${others} is ignored: all operations are served under ${prefix}, ` +
      'the path of the first server',
  )
}

/**
 * Returns the path of the servers that an operation has instead of the document's (OpenAPI 3.1.1, section
 * 4.8.10): its own, or those of its path item. Undefined if it has none.
 * @param place names the operation in messages
 */
export function readOwnPrefix(reader: Reader, place: string, item: Node, node: Node): string | undefined {
  const owner = [node, item].find(({ servers }) => nodesOf(servers).length > 0)
  if (owner === undefined) return undefined
  return prefixOf(
    reader,
    owner,
    (others, prefix) =>
      `${place}: the path ${others} of its servers is ignored: it is served under ${prefix}, ` +
      'the path of the first',
  )
}

function prefixOf(reader: Reader, owner: Node, warning: (others: string, prefix: string) => string): string {
  const [prefix = '', ...others] = [...new Set(pathsOf(reader, owner))]
  if (others.length > 0) reader.warn(warning(others.map(shown).join(', '), shown(prefix)))
  return prefix
}

function shown(prefix: string): string {
  return prefix || '/'
}

function pathsOf(reader: Reader, { servers }: Node): string[] {
  return reader.list(servers).map((server) => {
    const variables = reader.node(server.variables)
    const url = String(server.url).replace(/\{([^{}]+)\}/g, (whole, name) =>
      String(reader.node(variables[name]).default ?? whole),
    )
    const path = url.replace(/^[^/]*\/\/[^/?#]*/, '')
    if (path.includes('{')) reader.problem(`the server URL ${url} has an undeclared variable in its path`)
    if (URL.canParse(path, 'http://localhost'))
      return new URL(path, 'http://localhost').pathname.replace(/\/+$/, '')
    reader.problem(`the server URL ${url} is not valid`)
    return ''
  })
}
