// Metrics of things that expire: certificates, and whatever else a new connection needs.

import { Gauge, type Registry } from 'prom-client'
import type { Pools } from '../database/database.js'
import { ReadServers, type Servers } from '../database/servers.js'
import { ServerTls } from '../database/tls.js'
import type { NewConnections } from '../http/new-connections.js'
import { type CertificateLife, firstToEnd } from '../lib/certificate-life.js'
import { metricName } from '../lib/project-name.js'
import type { RedisParts } from '../rate-limit/counters.js'

/** Measures whether the last trial of a new connection succeeded. */
export function measureNewConnections(registry: Registry, trials: NewConnections): void {
  new Gauge({
    name: metricName('new_connection_fails'),
    help: 'Whether a new connection, tried every minute beside the open ones, could not be opened (1), by server',
    labelNames: ['to'],
    registers: [registry],
    collect() {
      for (const [to, { error }] of trials) this.set({ to }, error === undefined ? 0 : 1)
    },
  })
}

/** Measures when certificates that connections depend on expire. */
export function measureCertificates(registry: Registry, pools: Pools, redis: RedisParts | undefined): void {
  const gauge = (name: string, help: string, figureOf: (life: CertificateLife) => number) =>
    new Gauge({
      name,
      help: `${help}, of the one that ends first, by whose it is`,
      labelNames: ['of'],
      registers: [registry],
      collect() {
        this.reset()
        for (const [of, life] of certificates(pools, redis)) this.set({ of }, figureOf(life) / 1000)
      },
    })
  gauge(metricName('certificate_expiry_timestamp_seconds'), 'When a certificate ends', ({ until }) => until)
  gauge(
    metricName('certificate_lifetime_seconds'),
    'How long a certificate is valid',
    ({ from, until }) => until - from,
  )
}

// Returns the lives of certificates. Leaves out servers whose certificates are not verified, and may expire.
function certificates({ writes, reads }: Pools, redis: RedisParts | undefined): [string, CertificateLife][] {
  const readServers = reads.options.servers
  const standbys = readServers instanceof ReadServers ? readServers.standbys : undefined
  const found: [string, Iterable<CertificateLife>][] = [
    ...ofServers('database', writes.options.servers),
    ...ofServers('standbys', standbys),
    ['redis', redis?.connection.certificates.values() ?? []],
  ]
  return found.flatMap(([of, lives]) => {
    const life = firstToEnd(lives)
    return life === undefined ? [] : [[of, life]]
  })
}

function ofServers(name: string, servers: Servers | undefined): [string, CertificateLife[]][] {
  const all = (servers?.all ?? []).flatMap(({ ssl }) => (ssl instanceof ServerTls ? [ssl] : []))
  return [
    [name, all.flatMap(({ serverLife }) => serverLife ?? [])],
    [`${name}_client`, all.flatMap(({ clientLife }) => clientLife ?? [])],
  ]
}
