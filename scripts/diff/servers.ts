// Where the operations are mounted: the path of the servers' addresses.

import { type Bump, type Comparison, report } from './comparison.js'
import { eachName, isNode, type Node, nodesOf } from './node.js'

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

/** The distinct paths of the servers' addresses, variables at their defaults; `/` where there is none. */
export function serverPaths(document: Node): string[] {
  const servers = nodesOf(document.servers)
  const paths = servers.map(({ url, variables }) => {
    const filled = String(url).replace(/\{([^}]+)\}/g, (_, name) => defaultOf(variables, name))
    const base = 'http://localhost'
    return URL.canParse(filled, base) ? new URL(filled, base).pathname.replace(/(?<=.)\/$/, '') : filled
  })
  return paths.length > 0 ? [...new Set(paths)] : ['/']
}

function defaultOf(variables: unknown, name: string): string {
  const variable = isNode(variables) ? variables[name] : undefined
  return String(isNode(variable) ? variable.default : '')
}
