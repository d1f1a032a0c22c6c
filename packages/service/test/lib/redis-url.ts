import t from 'tap'
import { type RedisUrl, readRedisUrl } from '../../src/lib/redis-url.js'

const noLogin = { username: undefined, password: undefined }
const plain: RedisUrl = {
  kind: 'server',
  hosts: [{ host: 'a', port: 6379 }],
  isEncrypted: false,
  login: noLogin,
  sentinelLogin: noLogin,
  database: 0,
  master: undefined,
}
const pair = [
  { host: 'a', port: 6379 },
  { host: '::1', port: 7 },
]

const places: [url: string, place: Partial<RedisUrl>][] = [
  ['redis://a', {}],
  ['redis://a/', {}],
  ['REDISS://a:7/2', { hosts: [{ host: 'a', port: 7 }], isEncrypted: true, database: 2 }],
  ['redis://:%@a', { login: { username: undefined, password: '%' } }],
  ['redis://:p%40s%C3%A4@a', { login: { username: undefined, password: 'p@sä' } }],
  ['redis://u:p@[::1]:7', { hosts: [{ host: '::1', port: 7 }], login: { username: 'u', password: 'p' } }],
  ['redis+cluster://a,[::1]:7', { kind: 'cluster', hosts: pair }],
  [
    'rediss+cluster://u:p@a,[::1]:7/0',
    { kind: 'cluster', hosts: pair, isEncrypted: true, login: { username: 'u', password: 'p' } },
  ],
  ['redis+sentinel://a/m', { kind: 'sentinel', hosts: [{ host: 'a', port: 26379 }], master: 'm' }],
  [
    'redis+sentinel://u:p@a:6379,[::1]:7/my%20master/3?sentinel_username=s&sentinel_password=q%26r',
    {
      kind: 'sentinel',
      hosts: pair,
      master: 'my master',
      database: 3,
      login: { username: 'u', password: 'p' },
      sentinelLogin: { username: 's', password: 'q&r' },
    },
  ],
]

for (const [url, place] of places)
  t.test(`${url} is parsed`, async (t) => {
    t.strictSame(readRedisUrl(url), { ...plain, ...place })
  })
