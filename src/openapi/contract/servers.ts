// Server Objects: the path of their URLs is the prefix of every operation. Their hosts matter only to
// clients.

import type { Node, Reader } from './reader.js'

/** Checks the servers of an operation and of its path item: their path must be the document's. */
export function checkServers(reader: Reader, place: string, item: Node, node: Node): void {
  const [prefix = ''] = pathsOf(reader, reader.document)
  const other = [...pathsOf(reader, item), ...pathsOf(reader, node)].find((path) => path !== prefix)
  if (other !== undefined)
    reader.problem(
      `${place}: the path of its servers is ${other || '/'}, ` +
        `but all operations are served under ${prefix || '/'}`,
    )
}

/** The path of the document's servers; if they differ, that of the first, with a warning. */
export function readPrefix(reader: Reader): string {
  const paths = pathsOf(reader, reader.document)
  const [prefix = '', ...others] = [...new Set(paths)]
  if (others.length > 0) {
    const shown = others.map((each) => each || '/').join(', ')
    reader.warn(
      `servers: the path ${shown} is ignored: all operations are served under ${prefix || '/'}, ` +
        'the path of the first server',
    )
  }
  return prefix
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
