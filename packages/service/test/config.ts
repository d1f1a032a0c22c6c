import t from 'tap'
import { readConfig } from '../src/config.js'
import { OperatorError } from '../src/lib/operator-error.js'

type Environment = Parameters<typeof readConfig>[0]

function problemsOf(environment: Environment): string[] {
  try {
    readConfig(environment)
  } catch (error) {
    if (error instanceof OperatorError) return error.message.split('\n')
    throw error
  }
  return []
}

const defaults = {
  host: '127.0.0.1',
  port: 3000,
  reusePort: false,
  metricsPort: undefined,
  publicUrl: undefined,
  databaseUrl: undefined,
  databaseReadUrl: undefined,
  serviceDatabaseUrl: undefined,
  servicePassword: '',
  databaseConnections: 11,
  redisUrl: undefined,
  redisTimeoutMs: 500,
  dataDir: undefined,
  otlpEndpoint: undefined,
  otlpFiles: {},
  oidcIssuer: undefined,
  oidcAudience: undefined,
  logLevel: 'info',
  isAddressLogged: false,
  trustProxy: false,
  corsOrigins: [],
  takesForeignCookies: false,
  securityContacts: [],
  startTimeoutMs: 20_000,
  misspelt: [],
  ignored: [],
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
  handlerTimeoutMs: 10_000,
  shutdownDelayMs: 0,
  shutdownTimeoutMs: 15_000,
  connectionsMax: 10_000,
  connectionsPerAddressMax: undefined,
  workMax: 4_000,
  streamsMax: 4_000,
  bodiesMaxBytes: undefined,
  uploadRateMin: 1_000,
}

t.test('an empty environment gives the defaults, frozen', async (t) => {
  const config = readConfig({})
  t.strictSame(config, defaults)
  t.ok(Object.isFrozen(config))
})

t.test('an empty or blank variable counts as unset', async (t) => {
  t.strictSame(readConfig({ PORT: '', HOST: '  ', DATABASE_URL: '', TRUST_PROXY: '' }), defaults)
})

const accepted: [variable: string, text: string, field: keyof typeof defaults, value: unknown][] = [
  ['HOST', '0.0.0.0', 'host', '0.0.0.0'],
  ['PORT', '0', 'port', 0],
  ['PORT', '65535', 'port', 65_535],
  ['PORT', ' 8080 ', 'port', 8080],
  ['METRICS_PORT', '9464', 'metricsPort', 9464],
  ['PUBLIC_URL', 'https://store.example/store/v1/', 'publicUrl', 'https://store.example/store/v1'],
  ['PUBLIC_URL', 'HTTPS://V1.Store.example:443/', 'publicUrl', 'https://v1.store.example'],
  ['PUBLIC_URL', 'http://[::1]:3000/a "b">', 'publicUrl', 'http://[::1]:3000/a%20%22b%22%3E'],
  ['DATABASE_URL', 'postgres://u:p@db/x', 'databaseUrl', 'postgres://u:p@db/x'],
  ['SERVICE_DATABASE_URL', 'postgres://u:p@db,b/x', 'serviceDatabaseUrl', 'postgres://u:p@db,b/x'],
  ['REDIS_URL', 'redis://counters:6379/2', 'redisUrl', 'redis://counters:6379/2'],
  ['REDIS_URL', 'rediss://u:p@counters', 'redisUrl', 'rediss://u:p@counters'],
  ['REDIS_URL', 'redis+cluster://a,b:7001', 'redisUrl', 'redis+cluster://a,b:7001'],
  ['REDIS_URL', 'rediss+sentinel://:p@a,[::1]:7/m', 'redisUrl', 'rediss+sentinel://:p@a,[::1]:7/m'],
  ['REDIS_TIMEOUT_MS', '20', 'redisTimeoutMs', 20],
  ['DATABASE_URL', 'postgresql://db/x?sslmode=require', 'databaseUrl', 'postgresql://db/x?sslmode=require'],
  ['DATA_DIR', '/var/lib/animals', 'dataDir', '/var/lib/animals'],
  ['OIDC_ISSUER', 'https://login.example/store/', 'oidcIssuer', 'https://login.example/store/'],
  ['OIDC_ISSUER', 'http://localhost:8080/realms/store', 'oidcIssuer', 'http://localhost:8080/realms/store'],
  ['OIDC_ISSUER', 'http://[::1]:8080', 'oidcIssuer', 'http://[::1]:8080'],
  ['OIDC_AUDIENCE', 'https://store.example', 'oidcAudience', 'https://store.example'],
  ['LOG_LEVEL', 'trace', 'logLevel', 'trace'],
  ['LOG_LEVEL', 'silent', 'logLevel', 'silent'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://u:p@c:4318/v1', 'otlpEndpoint', 'http://u:p@c:4318/v1'],
  ['LOG_ADDRESS', 'true', 'isAddressLogged', true],
  ['LOG_ADDRESS', 'false', 'isAddressLogged', false],
  ['REUSE_PORT', '1', 'reusePort', true],
  ['REUSE_PORT', 'true', 'reusePort', true],
  ['REUSE_PORT', '0', 'reusePort', false],
  ['TRUST_PROXY', 'true', 'trustProxy', true],
  ['TRUST_PROXY', 'false', 'trustProxy', false],
  ['TRUST_PROXY', 'loopback, 10.0.0.0/8,::1', 'trustProxy', ['loopback', '10.0.0.0/8', '::1']],
  ['CORS_ORIGINS', 'https://shop.example', 'corsOrigins', ['https://shop.example']],
  ['CROSS_SITE_COOKIES', 'true', 'takesForeignCookies', true],
  [
    'CORS_ORIGINS',
    'http://localhost:5173 , http://[::1]:8080',
    'corsOrigins',
    ['http://localhost:5173', 'http://[::1]:8080'],
  ],
  ['SECURITY_CONTACT', 'mailto:a@b.example', 'securityContacts', ['mailto:a@b.example']],
  [
    'SECURITY_CONTACT',
    'https://store.example/security , mailto:a@b.example?subject=x',
    'securityContacts',
    ['https://store.example/security', 'mailto:a@b.example?subject=x'],
  ],
  ['START_TIMEOUT_MS', '0', 'startTimeoutMs', 0],
  ['REQUEST_TIMEOUT_MS', '100', 'requestTimeoutMs', 100],
  ['KEEP_ALIVE_TIMEOUT_MS', '3600000', 'keepAliveTimeoutMs', 3_600_000],
  ['HANDLER_TIMEOUT_MS', '600000', 'handlerTimeoutMs', 600_000],
  ['SHUTDOWN_DELAY_MS', '500', 'shutdownDelayMs', 500],
  ['SHUTDOWN_TIMEOUT_MS', '100', 'shutdownTimeoutMs', 100],
  ['CONNECTIONS_MAX', '1', 'connectionsMax', 1],
  ['CONNECTIONS_PER_ADDRESS_MAX', '1', 'connectionsPerAddressMax', 1],
  ['WORK_MAX', '1', 'workMax', 1],
  ['STREAMS_MAX', '1', 'streamsMax', 1],
  ['BODIES_MAX_BYTES', '1048576', 'bodiesMaxBytes', 1_048_576],
  ['UPLOAD_RATE_MIN', '0', 'uploadRateMin', 0],
  ['DATABASE_CONNECTIONS', '3', 'databaseConnections', 3],
  ['DATABASE_CONNECTIONS', '10000', 'databaseConnections', 10_000],
]

for (const [variable, text, field, value] of accepted) {
  t.test(`${variable}=${text} is accepted`, async (t) => {
    t.strictSame(readConfig({ [variable]: text }), { ...defaults, [field]: value })
  })
}

for (const url of [
  'postgres://u:p@h1:5432,h2:6432/x?target_session_attrs=read-write',
  'postgres://h1,h2/x?target_session_attrs=any',
  'postgres://h1,h2/x?port=6432',
  'postgres://[::1]:5432,127.0.0.1:5433/x?target_session_attrs=primary',
  'postgres://u:p@/x?host=/run/a,/run/b&port=5432,5433',
  'postgres://u@%2Frun%2Fpostgresql/x',
  'postgres:///x',
]) {
  t.test(`DATABASE_URL=${url} is accepted`, async (t) => {
    t.equal(readConfig({ DATABASE_URL: url }).databaseUrl, url)
  })
}

const otlpEndpoint = 'http://c:4318'

const switches: [variable: string, text: string, endpoint: string | undefined][] = [
  ['OTEL_SDK_DISABLED', 'true', undefined],
  ['OTEL_SDK_DISABLED', 'TRUE', undefined],
  ['OTEL_SDK_DISABLED', 'false', otlpEndpoint],
  ['OTEL_SDK_DISABLED', '', otlpEndpoint],
  ['OTEL_TRACES_EXPORTER', 'none', undefined],
  ['OTEL_TRACES_EXPORTER', 'otlp', otlpEndpoint],
]

for (const [variable, text, endpoint] of switches) {
  t.test(
    `${variable}=${text} ${endpoint === undefined ? 'switches tracing off' : 'leaves tracing on'}`,
    async (t) => {
      const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: otlpEndpoint, [variable]: text }
      t.equal(readConfig(environment).otlpEndpoint, endpoint)
    },
  )
}

t.test('the files of a collector are those for traces, else those for all signals', async (t) => {
  const { otlpFiles } = readConfig({
    OTEL_EXPORTER_OTLP_CERTIFICATE: '/ca',
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: '/general',
    OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE: ' /cert ',
    OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: '',
  })
  t.strictSame(otlpFiles, { ca: '/ca', cert: '/cert' })
})

t.test('DATABASE_READ_URL requires DATABASE_URL, and may name any server', async (t) => {
  const [url, standby] = ['postgres://primary/x', 'postgres://one,two/x']
  const config = readConfig({ DATABASE_URL: url, DATABASE_READ_URL: standby })
  t.match(config, { databaseUrl: url, databaseReadUrl: standby })
  const refused = [
    [{ DATABASE_READ_URL: standby }, 'requires DATABASE_URL'],
    [
      { DATABASE_URL: url, DATABASE_READ_URL: 'mysql://one/x' },
      'must be a valid URL that begins with postgres:// or postgresql://',
    ],
    [
      { DATABASE_URL: url, DATABASE_READ_URL: `${standby}?target_session_attrs=standby` },
      'must not contain target_session_attrs',
    ],
  ] as const
  for (const [environment, message] of refused)
    t.strictSame(problemsOf(environment), [`DATABASE_READ_URL ${message}`])
})

t.test('SERVICE_DATABASE_URL must have a user, and a password or a client certificate', async (t) => {
  for (const url of ['postgres://db/x', 'postgres://u@db/x', 'postgres://db/x?sslcert=a.pem&sslkey=a.key'])
    t.strictSame(problemsOf({ SERVICE_DATABASE_URL: url }), [
      'SERVICE_DATABASE_URL must have a user, and a password, which SERVICE_PASSWORD can hold, or an sslcert',
    ])
  t.strictSame(problemsOf({ SERVICE_DATABASE_URL: 'postgres://u@db/x?sslcert=a.pem&sslkey=a.key' }), [])
})

t.test('WORKERS of earlier releases is ignored, and said to be', async (t) => {
  const { ignored, misspelt } = readConfig({ WORKERS: '4' })
  t.strictSame(misspelt, [])
  t.strictSame(ignored, [
    'WORKERS is ignored: one process serves; for several cores, run several instances that share one REDIS_URL',
  ])
  t.strictSame(readConfig({ WORKERS: ' ' }).ignored, [])
})

const rejected: [variable: string, ...texts: string[]][] = [
  ['METRICS_PORT', '-1', '65536', 'off'],
  ['PORT', '-1', '65536', '1e3', '0x10', '3000.5', 'http', '80 80'],
  [
    'DATABASE_URL',
    ...[
      'localhost',
      'mysql://db/x',
      'postgres',
      'postgres://u:%zz@db/x',
      'postgres://db/x#y',
      'postgres://db:port/x',
      'postgres://:5432/x',
    ],
    ...['postgres://h1,h2:6432/x', 'postgres://h1:5432,h2/x', 'postgres://h1,,h2/x', 'postgres://h1,/x'],
    ...[
      'postgres://h1:0/x',
      'postgres://h1:65536,h2:1/x',
      'postgres://h1,h2/x?port=1,2,3',
      'postgres:///x?port=one',
    ],
    ...['postgres://h1,h2/x?target_session_attrs=standby', 'postgres://h/x?target_session_attrs=read-only'],
  ],
  ['DATABASE_CONNECTIONS', '2', '10001', 'many'],
  [
    'REDIS_URL',
    ...['localhost', 'http://counters', 'redis', 'redis://', 'redis://a:port', 'redis://a/x', 'redis://a,b'],
    ...[
      'redis+other://a',
      'redis+cluster://a,,b',
      'redis+cluster://a/1',
      'redis+sentinel://a',
      'redis+sentinel://a/',
    ],
  ],
  ['REDIS_TIMEOUT_MS', '19', '60001', 'soon'],
  [
    'PUBLIC_URL',
    'store.example/v1',
    'ftp://a/v1',
    'https://a/v1?b',
    'https://u:p@a/v1',
    'https://a:b/v1',
    'https://a/v1#b',
    '//a/v1',
    '/v1',
  ],
  [
    'OIDC_ISSUER',
    ...['login.example', 'http://login.example', 'ftp://login.example', 'https://', 'file:///etc/issuer'],
    ...[
      'https://login.example/?a=b',
      'https://login.example/#a',
      'https://u:p@login.example',
      'http://127.example',
    ],
  ],
  ['LOG_LEVEL', 'loud', 'INFO'],
  ['TRUST_PROXY', 'yes', 'example.com', '10.0.0.0/8,', '10.0.0.0/33', '300.1.1.1', ':::'],
  [
    'CORS_ORIGINS',
    ...[
      '*',
      'null',
      'shop.example',
      'https://*.shop.example',
      'https://shop.example/',
      'https://Shop.example',
    ],
    ...[
      'https://shop.example:443',
      'https://shop.example/app',
      'https://a.example,',
      'https://a.example https://b.example',
    ],
    ...['ftp://shop.example', 'https://u:p@shop.example'],
  ],
  [
    'SECURITY_CONTACT',
    ...['security@store.example', 'mailto:', 'mailto:store', 'http://store.example', 'https://', 'tel:+1'],
    ...['mailto:a@b.example,', 'https://a.example https://b.example'],
  ],
  ['START_TIMEOUT_MS', '-1', '600001', '1.5'],
  ['REQUEST_TIMEOUT_MS', '99', '600001', '30s'],
  ['KEEP_ALIVE_TIMEOUT_MS', '99', '3600001'],
  ['HANDLER_TIMEOUT_MS', '0', '600001'],
  ['SHUTDOWN_DELAY_MS', '-1', '600001'],
  ['SHUTDOWN_TIMEOUT_MS', '99', '600001'],
  ['CONNECTIONS_MAX', '0', '1000001'],
  ['CONNECTIONS_PER_ADDRESS_MAX', '0', '1000001'],
  ['LOG_ADDRESS', '2', 'yes', 'TRUE'],
  ['REUSE_PORT', '3000', 'yes', 'TRUE'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318', 'grpc://localhost:4317', 'http://', 'http://5/w@x'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'localhost:4318', 'ftp://localhost'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a', 'a=', '=b', 'x y=1', 'a=%ZZ', 'a=1%0A2', 'a=€', 'a=1,b'],
  ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'x y=1'],
  ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '0', '-1', '1.5'],
  ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
  ['OTEL_BSP_EXPORT_TIMEOUT', '0'],
  ['OTEL_SDK_DISABLED', 'yes', '1'],
  ['OTEL_TRACES_EXPORTER', 'console', 'otlp,console'],
  ['WORK_MAX', '0', '1000001'],
  ['STREAMS_MAX', '0', '1000001'],
  ['BODIES_MAX_BYTES', '1048575', '1099511627777', '64MiB'],
  ['UPLOAD_RATE_MIN', '-1', '1000000001'],
  ['PGTARGETSESSIONATTRS', 'any', 'primary'],
]

for (const [variable, ...texts] of rejected) {
  for (const text of texts) {
    t.test(`${variable}=${text} is rejected`, async (t) => {
      const problems = problemsOf({ [variable]: text })
      t.equal(problems.length, 1)
      t.match(problems[0], new RegExp(`^${variable} must be `))
    })
  }
}

t.test('one error reports all problems', async (t) => {
  const problems = problemsOf({ PORT: 'x', LOG_LEVEL: 'loud', TRUST_PROXY: 'yes', CONNECTIONS_MAX: '-3' })
  t.strictSame(
    problems.map((problem) => problem.split(' ')[0]),
    ['PORT', 'LOG_LEVEL', 'TRUST_PROXY', 'CONNECTIONS_MAX'],
  )
  t.equal(problems[0], 'PORT must be an integer from 0 to 65535, got "x"')
})

t.test('headers for OpenTelemetry are accepted as it reads them', async (t) => {
  const headers = 'Authorization=Basic%20dTpw==,x-tenant = shop;meta, ,'
  t.strictSame(readConfig({ OTEL_EXPORTER_OTLP_HEADERS: headers }), defaults)
})

t.test('an error repeats no URL and no header, which may contain a secret', async (t) => {
  t.notMatch(problemsOf({ OTEL_EXPORTER_OTLP_HEADERS: 'api key=hunter2' }).join(), 'hunter2')
  t.notMatch(problemsOf({ OIDC_ISSUER: 'https://store:hunter2@login.example' }).join(), 'hunter2')
  for (const url of ['mysql://u:hunter2@db/x', 'u:hunter2@db', 'postgres://u:hunter2@ db/x']) {
    const message = problemsOf({ DATABASE_URL: url }).join('\n')
    t.match(message, /^DATABASE_URL must be a valid URL that begins with postgres:\/\/ or postgresql:\/\//)
    t.notMatch(message, 'hunter2')
  }
  // Unencoded, parts of the password would become hosts, ports or databases, which errors and the log name.
  for (const password of ['p@ss/w#rd%?', 'a/b', '5/b', '5?b', '5?b=1', '5#b', '5/b?c=1#d', '%zz']) {
    const [problem] = problemsOf({ DATABASE_URL: `postgres://u:${password}@db:5432/x` })
    t.match(
      problem,
      /^DATABASE_URL must be a (valid URL|URL with @ # \/ \? % encoded .* PGPASSWORD)/,
      password,
    )
  }
  t.match(readConfig({ DATABASE_URL: 'postgres://u:p@ss@db/x' }), { databaseUrl: 'postgres://u:p@ss@db/x' })
})

t.test('an error includes warnings about misspelt variables', async (t) => {
  const environment = { DATABSE_URL: 'postgres://primary/x', DATABASE_READ_URL: 'postgres://standby/x' }
  const message =
    'DATABASE_READ_URL requires DATABASE_URL\nDATABSE_URL is unknown: did you mean DATABASE_URL?'
  t.throws(() => readConfig(environment), { message })
})

t.test('misspelt variables are reported', async (t) => {
  const misspelt = (...names: string[]) =>
    readConfig(Object.fromEntries(names.map((name) => [name, '1']))).misspelt
  t.strictSame(misspelt('DATABSE_URL', 'DATADIR', 'LOG_LEVLE', 'REDIS_URI', 'PGPASSWRD'), [
    'DATABSE_URL is unknown: did you mean DATABASE_URL?',
    'DATADIR is unknown: did you mean DATA_DIR?',
    'LOG_LEVLE is unknown: did you mean LOG_LEVEL?',
    'REDIS_URI is unknown: did you mean REDIS_URL?',
    'PGPASSWRD is unknown: did you mean PGPASSWORD?',
  ])
  t.strictSame(misspelt('HOME', 'POST', 'PATH', 'DATABASE', 'PGDATABASE', 'NODE_ENV', 'LANG'), [])
})
