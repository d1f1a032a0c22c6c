// Redis URLs: one server, a cluster, or the sentinels of a master.

import querystring from 'node:querystring'

export interface RedisUrl {
  readonly kind: 'server' | 'cluster' | 'sentinel'
  /** The server, some nodes of the cluster, or some sentinels. One that answers names the others. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly isEncrypted: boolean
  readonly login: Login
  /** The login at the sentinels. */
  readonly sentinelLogin: Login
  readonly database: number
  /** The master's name at the sentinels. */
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
 * Parses `redis://host:6379/0`, `redis+cluster://host:6379,host:6379` or
 * `redis+sentinel://host:26379,host:26379/master/0`, each with an optional login (`user:password@`), `rediss`
 * for TLS. The sentinels' login is in `sentinel_username` and `sentinel_password`. Else undefined.
 */
export function readRedisUrl(text: string): RedisUrl | undefined {
  const [, scheme = '', named, login = '', list, rest = ''] = form.exec(text) ?? []
  if (list === undefined) return undefined
  const kind = (named?.toLowerCase() ?? 'server') as RedisUrl['kind']
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

// Unlike decodeURIComponent, unescape never throws.
function decoded(text: string | undefined): string | undefined {
  return querystring.unescape(text ?? '') || undefined
}
