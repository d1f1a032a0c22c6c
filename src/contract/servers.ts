// The path that the addresses of servers end in, under which every operation is mounted: which host is meant, only callers need to know.

import type { Node, Reader } from './reader.js'

/** Says what is wrong with the servers of an operation, or of its path. */
export function checkServers(reader: Reader, place: string, item: Node, node: Node): void {
  const [prefix = ''] = pathsOf(reader, reader.document)
  const other = [...pathsOf(reader, item), ...pathsOf(reader, node)].find((path) => path !== prefix)
  if (other !== undefined)
    reader.problem(
      `${place}: its own servers end in ${other || '/'}, but all operations are served under ${prefix || '/'}`,
    )
}

/** The path of the document's own servers. */
export function readPrefix(reader: Reader): string {
  const paths = pathsOf(reader, reader.document)
  const [prefix = '', ...others] = [...new Set(paths)]
  if (others.length > 0) {
    const shown = others.map((each) => each || '/').join(', ')
    reader.leave(
      `the servers' addresses end in ${shown}, too, but operations are served under ${prefix || '/'}`,
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
    if (path.includes('{'))
      reader.problem(`the server's address ${url} has a variable in its path that is not declared`)
    if (URL.canParse(path, 'http://localhost'))
      return new URL(path, 'http://localhost').pathname.replace(/\/+$/, '')
    reader.problem(`the server's address ${url} is no URL`)
    return ''
  })
}
