// Layers of packages/service/src/, lowest first: a folder imports only from lower layers, and not from its
// own layer's other folders.

const layers = [
  ['lib'],
  ['config'],
  ['database'],
  ['middleware'],
  ['auth'],
  ['rate-limit'],
  ['http', 'commands', 'client'],
  ['telemetry'],
  ['app'],
  ['process'],
  ['index', 'checks', 'table', 'command'],
]

const place = (names) => `^packages/service/src/(${names.join('|')})(/|[.]ts$)`

// What the parts of the service declare of themselves, which tools and tests of contracts check, too. These
// files import the engine alone.
const declarations = [
  'service/(dist/)?src/auth/(plans|unauthorized)[.]',
  'service/(dist/)?src/http/(additions|headers|service-paths)[.]',
  'service/(dist/)?src/rate-limit/headers[.]',
  'service/(dist/)?src/database/migration[.]',
]

const arrows = layers.flatMap((names, i) => [
  {
    name: `${names.join('-')}-only-imports-lower-layers`,
    severity: 'error',
    from: { path: place(names) },
    to: { path: place(layers.slice(i + 1).flat()) },
  },
  ...names
    .map((name) => ({
      name: `${name}-not-to-its-own-layer`,
      severity: 'error',
      from: { path: place([name]) },
      to: { path: place(names.filter((other) => other !== name)) },
    }))
    .filter(() => names.length > 1),
])

const engine = '^packages/engine/src/'

// The rooms of the engine, and which of the others each imports.
const rooms = {
  document: [],
  runtime: ['document'],
  plan: ['document', 'runtime'],
  kinds: ['document', 'runtime'],
  'serve/code': ['document', 'runtime', 'plan'],
  'serve/glue': ['document'],
  'serve/request': ['document', 'runtime', 'kinds'],
  'serve/paths': ['document', 'serve/request'],
  'serve/response': ['document', 'runtime', 'kinds', 'serve/paths', 'serve/request'],
  'serve/security': ['document', 'serve/paths', 'serve/request', 'serve/response'],
  'serve/outgoing': ['document', 'runtime', 'kinds', 'serve/request', 'serve/response'],
  'serve/documents': ['document', 'serve/paths', 'serve/response'],
  serve: ['document', 'runtime', 'kinds', 'plan', 'serve'],
  mount: ['document', 'kinds', 'serve'],
  'compile/source': ['document', 'compile/contract'],
  'compile/contract': ['document', 'kinds'],
  'compile/schemas': ['document', 'runtime'],
  'compile/examples': ['document', 'runtime'],
  'compile/code': ['document', 'runtime', 'kinds', 'plan', 'compile/schemas'],
  'compile/documents': [
    ...['document', 'runtime', 'kinds', 'serve'],
    ...['compile/source', 'compile/contract', 'compile/examples'],
  ],
  compile: ['document', 'runtime', 'kinds', 'plan', 'serve', 'compile'],
  generate: ['document', 'runtime', 'kinds', 'serve', 'compile'],
  mock: ['document', 'runtime', 'kinds', 'serve', 'mount', 'compile'],
}

const doors = `${engine}(index|compile/index|tools)[.]ts$`

// A room within another has its own rule; what is beside the rooms of a folder composes them.
const within = (room) =>
  /^(serve|compile)$/.test(room) ? `${engine}${room}/[^/]+[.]ts$` : `${engine}${room}/`

const roomRules = Object.entries(rooms).map(([room, others]) => ({
  name: `the-engine's-${room.replace('/', '-')}-imports-${others.join('-').replaceAll('/', '-') || 'no-other-room'}`,
  severity: 'error',
  from: { path: within(room) },
  to: {
    path: engine,
    pathNot: [`${engine}(${[room, ...others, 'lib'].join('|')})/`, ...(room === 'mock' ? [doors] : [])],
    // What is asked for once in a while, such as the line of a fault or the text of a page, is loaded then.
    ...(/^(serve|mount)/.test(room) && { dynamic: false }),
  },
}))

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    ...arrows,
    ...roomRules,
    {
      name: 'no-server-loads-how-a-kind-is-declared',
      severity: 'error',
      from: { path: `${engine}(serve|mount|kinds)/`, pathNot: '/declared' },
      to: { path: `${engine}kinds/.*declared`, dynamic: false },
    },
    {
      name: 'every-folder-of-the-engine-is-a-room',
      severity: 'error',
      from: {},
      to: { path: `${engine}[^/]+/`, pathNot: `${engine}(${[...Object.keys(rooms), 'lib'].join('|')})/` },
    },
    {
      name: 'packages-import-themselves-alone',
      severity: 'error',
      from: { path: '^packages/([^/]+)/' },
      to: { path: '^(src|generated|scripts|test|packages)/', pathNot: '^packages/$1/' },
    },
    {
      name: 'packages-are-imported-by-their-names',
      severity: 'error',
      from: { path: '^(src|generated|scripts|test)/' },
      to: { path: '^packages/[^/]+/(src|test)/' },
    },
    {
      name: 'what-is-installed-needs-no-helper-of-tests',
      severity: 'error',
      from: {
        path: '^(src|generated|packages/[^/]+/(src|tools|generator))/',
        pathNot: '^packages/testing/',
      },
      to: { path: '^(packages/testing/|contract-testing)' },
    },
    {
      name: 'the-client-needs-no-engine',
      severity: 'error',
      from: { path: '^packages/client/src/' },
      to: { path: '^contract-engine' },
    },
    {
      name: 'the-diff-loads-no-server',
      severity: 'error',
      from: { path: '^packages/diff/src/' },
      to: { path: '^contract-engine', pathNot: '^contract-engine/(tools$|lib/)' },
    },
    {
      name: 'the-server-calls-nobody',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/client/' },
      to: { path: '^contract-client' },
    },
    {
      name: 'the-server-has-no-tools',
      severity: 'error',
      from: {
        path: '^(src|generated|packages/service/src)/',
        pathNot: '/src/(commands/compile|auth/plans)[.]ts$',
      },
      to: { path: '^contract-engine/', pathNot: '^contract-engine/lib/' },
    },
    {
      name: 'tools-for-contracts-run-the-engine-alone',
      severity: 'error',
      from: { path: '^(scripts/(features|package)|packages/service/tools/(generate|dev))/' },
      to: {
        path: 'service/(dist/)?src/(database|http|auth|rate-limit)/',
        pathNot: declarations,
      },
    },
    {
      name: 'the-service-runs-without-its-tools',
      severity: 'error',
      from: { path: '^packages/service/src/' },
      to: { path: '^packages/service/tools/' },
    },
    {
      name: 'src-not-to-scripts-or-test',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(scripts|test)/' },
    },
    {
      name: 'only-the-process-and-the-door-import-app',
      severity: 'error',
      from: { path: '^packages/service/src/', pathNot: '^packages/service/src/(process/serve|index)[.]ts$' },
      to: { path: '^packages/service/src/app[.]ts$' },
    },
    {
      name: 'a-team-imports-the-doors-of-the-service',
      severity: 'error',
      from: { path: '^(src|generated)/' },
      to: {
        path: 'service/dist/src/',
        pathNot: 'service/dist/src/(index|checks|table|command|database/feed)[.]',
      },
    },
    {
      name: 'every-folder-has-a-layer',
      severity: 'error',
      from: {},
      to: { path: '^packages/service/src/', pathNot: place(layers.flat()) },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true, // includes type-only imports
    tsConfig: { fileName: 'tsconfig.json' },
  },
}
