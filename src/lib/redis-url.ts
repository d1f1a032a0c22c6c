// The forms of a Redis URL: one server, a cluster, or the sentinels of a master.

import querystring from 'node:querystring'

/** Where a Redis is, and how one logs in. */
export interface RedisPlace {
  readonly kind: 'server' | 'cluster' | 'sentinel'
  /** The server; or servers of the cluster, or sentinels, of which one that answers tells of the others. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly isEncrypted: boolean
  readonly login: Login
  /** To the sentinels. */
  readonly sentinelLogin: Login
  readonly database: number
  /** What the sentinels call it. */
  readonly master: string | undefined
}

interface Login {
  readonly username: string | undefined
  readonly password: string | undefined
}

const form = /^(rediss?)(?:\+(cluster|sentinel))?:\/\/([^/?#]*@)?([^/?#@]+)([^#]*)$/i
const paths = { server: /^\/?(\d*)$/, cluster: /^\/?(0?)$/, sentinel: /^\/([^/]+)(?:\/(\d*))?$/ }
const ports = { server: 6379, cluster: 6379, sentinel: 26379 }

/**
 * Reads `redis://host:6379/0`, `redis+cluster://host:6379,host:6379` or `redis+sentinel://host:26379,host:26379/master/0`, each with a
 * login (`user:password@`) and, for TLS, as `rediss`. `sentinel_username` and `sentinel_password` are a query's: sentinels have logins
 * of their own. Undefined where it is none of them.
 */
export function readRedisUrl(text: string): RedisPlace | undefined {
  const [, scheme = '', named, login = '', list, rest = ''] = form.exec(text) ?? []
  if (list === undefined) return undefined
  const kind = (named?.toLowerCase() ?? 'server') as RedisPlace['kind']
  const texts = list.split(',').map((host) => `redis://${login}${host}${rest}`)
  if (!texts.every((each) => URL.canParse(each)) || (kind === 'server' && texts.length > 1)) return undefined
  const urls = texts.map((each) => new URL(each))
  const [{ username, password, pathname, searchParams }] = urls as [URL]
  const path = paths[kind].exec(pathname)
  const options = [...searchParams.keys()].filter(
    (name) => kind !== 'sentinel' || !/^sentinel_(username|password)$/.test(name),
  )
  if (path === null || options.length > 0 || urls.some(({ hostname }) => hostname === '')) return undefined
  const [master, database] = kind === 'sentinel' ? [decoded(path[1]), path[2]] : [undefined, path[1]]
  return {
    kind,
    hosts: urls.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || ports[kind]),
    })),
    isEncrypted: scheme.toLowerCase() === 'rediss',
    login: { username: decoded(username), password: decoded(password) },
    sentinelLogin: {
      username: searchParams.get('sentinel_username') ?? undefined,
      password: searchParams.get('sentinel_password') ?? undefined,
    },
    database: Number(database || 0),
    master,
  }
}

// Unlike decodeURIComponent it throws at nothing.
function decoded(text: string | undefined): string | undefined {
  return querystring.unescape(text ?? '') || undefined
}
