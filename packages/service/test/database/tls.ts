import { X509Certificate } from 'node:crypto'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import tls from 'node:tls'
import { until } from 'contract-testing/until'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { connect } from '../../src/database/connect.js'
import type { RootSql } from '../../src/database/database.js'
import { readDatabaseUrl } from '../../src/database/servers.js'
import { type CertificateLife, lifeOf } from '../../src/lib/certificate-life.js'
import { measureCertificates } from '../../src/telemetry/connection-metrics.js'
import { silent } from '../fixtures/cluster.js'
import { temporaryDirectory } from '../fixtures/process.js'
import { startDatabaseProxy } from '../fixtures/proxy.js'
import { fixture } from '../fixtures/root.js'
import { createDatabase, testConfig } from '../fixtures/service.js'

const folder = fixture('tls')
const authority = path.join(folder, 'ca.pem')

/**
 * Starts a TLS proxy to the database that answers PostgreSQL's SSLRequest, with a certificate of the test's
 * CA.
 */
async function startTls(t: Test, { options }: RootSql, certificate: 'address' | 'name') {
  const [key, cert, ca] = [`${certificate}.key`, `${certificate}.pem`, 'ca.pem'].map((name) =>
    readFileSync(path.join(folder, name)),
  )
  const sockets = new Set<net.Socket>()
  const callers: (string | undefined)[] = []
  const server = net.createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write('S') // the answer to an SSLRequest
      const secure = new tls.TLSSocket(socket, {
        isServer: true,
        key,
        cert,
        ca,
        requestCert: true,
        rejectUnauthorized: false,
      })
      secure.on('error', () => {})
      secure.on('secure', () => callers.push(secure.getPeerCertificate().subject?.CN as string | undefined))
      const behind = options.path
        ? net.connect(String(options.path))
        : net.connect(options.port[0] ?? 5432, options.host[0])
      sockets.add(behind)
      behind.on('error', () => {})
      secure.pipe(behind).pipe(secure)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const login = `${options.user}${typeof options.pass === 'string' ? `:${encodeURIComponent(options.pass)}` : ''}`
  const url = (host: string, parameters: Record<string, string>) =>
    `postgres://${login}@${host}:${port}/${options.database}?${new URLSearchParams(parameters)}`
  return { url, callers }
}

async function use(databaseUrl: string, startTimeoutMs = 0): Promise<string> {
  const config = { ...testConfig(), startTimeoutMs, databaseUrl }
  const database = await connect(config, silent)
  try {
    await Promise.all(Array.from({ length: 3 }, () => database.pools.reads.sql`select 1`))
    return 'used'
  } finally {
    await database.close()
  }
}

t.test('a statement that is given up is cancelled over TLS, too', async (t) => {
  const sql = await createDatabase(t)
  const { url } = await startTls(t, sql, 'name')
  const databaseUrl = url('localhost', { sslmode: 'verify-full', sslrootcert: authority })
  const config = { ...testConfig(), databaseUrl, handlerTimeoutMs: 1_000 }
  const { pools, close } = await connect(config, silent)
  t.teardown(() => close())
  const sleep = pools.writes.hold(undefined, async (held) => {
    const sql = held.sqlUntil(undefined)
    await sql`set statement_timeout = 0`
    await sql`select pg_sleep(600)`
  })
  await t.rejects(sleep, { code: 'CONNECTION_CLOSED' })
  await until(async () => {
    const asleep = await sql`
      select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`
    return asleep.length === 0
  })
  // Until a trial has shown that commits work again, statements may be rejected.
  await until(() =>
    pools.writes.sql`select 1`.then(
      () => true,
      () => false,
    ),
  )
  t.pass('the next is served')
})

const cases: [
  title: string,
  'address' | 'name',
  host: string,
  parameters: Record<string, string>,
  RegExp | 'used',
][] = [
  ['require accepts any certificate', 'name', '127.0.0.1', { sslmode: 'require' }, 'used'],
  ['verify-full with an unknown authority', 'name', 'localhost', { sslmode: 'verify-full' }, /certificate/],
  ['verify-full by name', 'name', 'localhost', { sslmode: 'verify-full', sslrootcert: authority }, 'used'],
  [
    'verify-full by address',
    'address',
    '127.0.0.1',
    { sslmode: 'verify-full', sslrootcert: authority },
    'used',
  ],
  [
    'verify-full with another name',
    'address',
    'localhost',
    { sslmode: 'verify-full', sslrootcert: authority },
    /localhost/,
  ],
  [
    'verify-full with another address',
    'name',
    '127.0.0.1',
    { sslmode: 'verify-full', sslrootcert: authority },
    /127\.0\.0\.1/,
  ],
  ['verify-ca', 'name', '127.0.0.1', { sslmode: 'verify-ca', sslrootcert: authority }, 'used'],
  ['verify-ca with an unknown authority', 'name', '127.0.0.1', { sslmode: 'verify-ca' }, /certificate/],
  ['an authority without an sslmode', 'name', '127.0.0.1', { sslrootcert: authority }, 'used'],
  ['sslrootcert=system', 'name', 'localhost', { sslrootcert: 'system' }, /certificate/],
  [
    'an unknown sslmode',
    'name',
    '127.0.0.1',
    { sslmode: 'verify_full' },
    /sslmode must be one of disable, .*, not verify_full$/,
  ],
  [
    'a missing file',
    'name',
    'localhost',
    { sslrootcert: '/nowhere.pem' },
    /sslrootcert cannot be read: ENOENT/,
  ],
  [
    'a file that is no certificate',
    'name',
    'localhost',
    { sslrootcert: path.join(folder, 'name.key') },
    /^DATABASE_URL: TLS cannot be used: .* \(sslrootcert .+\/name\.key\)$/,
  ],
  [
    'a certificate of another key',
    'name',
    'localhost',
    { sslcert: path.join(folder, 'name.pem'), sslkey: path.join(folder, 'address.key') },
    /^DATABASE_URL: TLS cannot be used: .* \(sslcert .+\/name\.pem, sslkey .+\/address\.key\)$/,
  ],
  [
    'a list of revoked certificates that has ended',
    'name',
    'localhost',
    { sslmode: 'verify-full', sslrootcert: authority, sslcrl: path.join(folder, 'ended-crl.pem') },
    /: CRL has expired \(sslcrl .+\/ended-crl\.pem\)\n/,
  ],
  [
    'an older protocol than required',
    'name',
    '127.0.0.1',
    { sslmode: 'require', ssl_max_protocol_version: 'TLSv1.1', ssl_min_protocol_version: 'TLSv1.1' },
    /protocol|version/i,
  ],
  [
    'a value that is not valid',
    'name',
    '127.0.0.1',
    { sslmode: 'require', ssl_min_protocol_version: '1.2' },
    /^DATABASE_URL: TLS cannot be used: /,
  ],
]

for (const [title, certificate, host, parameters, expected] of cases) {
  t.test(`TLS to the database: ${title}`, async (t) => {
    const { url } = await startTls(t, await createDatabase(t), certificate)
    const used = use(url(host, parameters))
    if (expected === 'used') t.equal(await used, 'used')
    else await t.rejects(used, { name: 'OperatorError', message: expected })
  })
}

t.test('with sslmode=disable, the files are not read', async (t) => {
  const { url, servers } = await readDatabaseUrl(
    'postgres://a@b/c?sslmode=disable&sslrootcert=/nowhere.pem&application_name=d',
  )
  t.equal(url, 'postgres:///?sslmode=disable&application_name=d&keep_alive=60')
  t.strictSame(servers.all, [{ host: ['b'], port: [5432] }])
})

t.test('an error in DATABASE_READ_URL names that variable', async (t) => {
  const databaseUrl = 'postgres://a@127.0.0.1:1/b'
  const databaseReadUrl = `${databaseUrl}?sslmode=verify_full`
  const config = { ...testConfig(), databaseUrl, databaseReadUrl }
  await t.rejects(connect(config, silent), { message: /^DATABASE_READ_URL: sslmode must be one of/ })
})

t.test('TLS to the database: the service presents its client certificate', async (t) => {
  const { url, callers } = await startTls(t, await createDatabase(t), 'address')
  const own = { sslcert: path.join(folder, 'name.pem'), sslkey: path.join(folder, 'name.key') }
  t.equal(await use(url('127.0.0.1', { sslmode: 'verify-full', sslrootcert: authority, ...own })), 'used')
  t.strictSame([...new Set(callers)], ['name'])
})

// Copies the files that will be renewed, and starts a service that uses them.
async function startRenewed(t: Test) {
  const { url, callers } = await startTls(t, await createDatabase(t), 'address')
  const directory = await temporaryDirectory(t)
  const parameters = Object.fromEntries(
    ['sslrootcert', 'sslcrl', 'sslcert', 'sslkey'].map((name) => [name, path.join(directory, name)]),
  )
  const put = (name: string, source: string) =>
    copyFileSync(path.join(folder, source), path.join(directory, name))
  put('sslrootcert', 'ca.pem')
  put('sslcrl', 'crl.pem')
  put('sslcert', 'address.pem')
  put('sslkey', 'address.key')
  const databaseUrl = url('127.0.0.1', { sslmode: 'verify-full', ...parameters })
  const { pools, close } = await connect({ ...testConfig(), databaseUrl }, silent)
  t.teardown(() => close())
  const reconnect = async () => {
    // An attempt that was overtaken on a busy machine would bring a connection with the files of before.
    await until(() => pools.writes.counts.opening === 0)
    pools.writes.retireAll()
    await pools.writes.sql`select 1`
  }
  return { callers, directory, put, reconnect }
}

t.test('the lives of certificates are measured: the server’s if it is verified, and the own', async (t) => {
  const database = await createDatabase(t)
  const own = { sslcert: path.join(folder, 'address.pem'), sslkey: path.join(folder, 'address.key') }
  const verified = { sslmode: 'verify-full', sslrootcert: authority }
  const [first] = [...['name.pem', 'ca.pem'].map(lifeOfFile)].sort((a, b) => a.until - b.until)
  const [server, client] = [first, lifeOfFile('address.pem')]
  for (const [parameters, expected] of [
    [{ sslmode: 'require' }, {}],
    [verified, { server }],
    [{ sslmode: 'verify-ca', sslrootcert: authority }, { server }],
    [{ sslmode: 'require', ...own }, { client }],
    [
      { ...verified, ...own },
      { server, client },
    ],
  ] as const) {
    const { url } = await startTls(t, database, 'name')
    const { pools, close } = await connect(
      { ...testConfig(), databaseUrl: url('localhost', parameters) },
      silent,
    )
    t.teardown(() => close())
    await pools.writes.tryOpening()
    const registry = new Registry()
    measureCertificates(registry, pools, undefined)
    const text = await registry.metrics()
    const valueIn = (what: string, of: string) =>
      new RegExp(`^animal_store_certificate_${what}_seconds{of="${of}"} (\\S+)$`, 'm').exec(text)?.[1]
    for (const [of, life] of Object.entries(namesOf(expected))) {
      t.equal(
        valueIn('expiry_timestamp', of),
        life && String(life.until / 1000),
        `${of} of ${Object.keys(parameters)}`,
      )
      t.equal(valueIn('lifetime', of), life && String((life.until - life.from) / 1000))
    }
  }
})

function lifeOfFile(name: string): CertificateLife {
  return lifeOf(new X509Certificate(readFileSync(path.join(folder, name))))
}

function namesOf({ server, client }: { server?: CertificateLife | undefined; client?: CertificateLife }) {
  return { database: server, database_client: client }
}

t.test('TLS to the database: renewed files are used by the next connection', async (t) => {
  const { callers, directory, put, reconnect } = await startRenewed(t)
  await reconnect()
  t.equal(callers.at(-1), 'address')

  t.test('a certificate and its key', async (t) => {
    put('sslcert', 'name.pem')
    await t.rejects(reconnect(), { message: /sslcert .*, sslkey / }, 'only one of them is renewed')
    put('sslkey', 'name.key')
    await until(() =>
      reconnect().then(
        () => true,
        () => false,
      ),
    )
    t.equal(callers.at(-1), 'name')
  })

  const renewals: [name: string, source: string, good: string, message: RegExp][] = [
    ['sslcrl', 'ended-crl.pem', 'crl.pem', /CRL has expired \(sslcrl .+\/sslcrl\)$/],
    ['sslrootcert', 'name.pem', 'ca.pem', /\(sslrootcert .+\/sslrootcert\)$/],
    ['sslrootcert', 'name.key', 'ca.pem', /TLS cannot be used: .* \(sslrootcert .+\/sslrootcert\)$/],
  ]
  for (const [name, source, good, message] of renewals)
    t.test(`${name} is ${source}, then ${good}`, async (t) => {
      put(name, source)
      await t.rejects(reconnect(), { message })
      put(name, good)
      await until(() =>
        reconnect().then(
          () => true,
          () => false,
        ),
      )
    })

  t.test('a file that is half written', async (t) => {
    writeFileSync(path.join(directory, 'sslcert'), '-----BEGIN CERTIFICATE-----\nMIIB')
    await t.rejects(reconnect(), { message: /TLS cannot be used: .* \(sslcert .+\)$/ })
    put('sslcert', 'name.pem')
    await until(() =>
      reconnect().then(
        () => true,
        () => false,
      ),
    )
  })
})

t.test('a server without TLS fails the startup at once if sslmode requires it', async (t) => {
  const { url } = await startDatabaseProxy(t, await createDatabase(t))
  const start = (sslmode: string) => use(`${url}?sslmode=${sslmode}`, 60_000)
  for (const sslmode of ['require', 'verify-ca', 'verify-full']) {
    await t.rejects(start(sslmode), {
      name: 'OperatorError',
      message:
        /: 127\.0\.0\.1 does not support TLS, but sslmode requires it\nEnable TLS on the server, or set sslmode=disable in DATABASE_URL\.$/,
    })
  }
  for (const sslmode of ['prefer', 'allow']) t.equal(await start(sslmode), 'used')
})

t.test('TLS to the database: each of several hosts is verified by its own name', async (t) => {
  const { url } = await startTls(t, await createDatabase(t), 'address')
  const parameters = { sslmode: 'verify-full', sslrootcert: authority }
  const { port } = new URL(url('localhost', parameters))
  t.equal(await use(url(`localhost:${port},127.0.0.1`, parameters)), 'used', 'by the address')
  await t.rejects(use(url(`localhost:${port},localhost`, parameters)), { message: /localhost/ })
})
