// Layers of src/, lowest first: a folder imports only from lower layers, and not from its own layer's other folders.

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
  // What a team writes.
  ['services', 'errors'],
  ['handlers', 'schemes'],
  ['main'],
]

const place = (names) => `^src/(${names.join('|')})(/|[.]ts$)`

// What the parts of the service declare of themselves, which tools and tests of contracts check, too. These
// files import the engine alone.
const declarations = [
  '^src/auth/(plans|unauthorized)[.]ts$',
  '^src/http/(additions|faults|headers|service-paths)[.]ts$',
  '^src/rate-limit/headers[.]ts$',
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
  values: ['document'],
  kinds: ['document', 'values'],
  'serve/base': ['document'],
  'serve/code': ['document', 'values'],
  'serve/glue': ['document'],
  'serve/request': ['document', 'values', 'kinds', 'serve/base'],
  'serve/response': ['document', 'values', 'kinds', 'serve/base', 'serve/request'],
  'serve/security': ['document', 'serve/base', 'serve/request', 'serve/response'],
  'serve/outgoing': ['document', 'values', 'kinds', 'serve/request', 'serve/response'],
  'serve/documents': ['document', 'serve/base', 'serve/response'],
  serve: ['document', 'values', 'kinds', 'serve'],
  mount: ['document', 'serve'],
  'compile/kinds': ['document', 'kinds'],
  'compile/source': ['document', 'compile/contract'],
  'compile/contract': ['document', 'kinds', 'serve/outgoing', 'compile/kinds'],
  'compile/schemas': ['document', 'values'],
  'compile/code': ['document', 'values', 'serve', 'compile/schemas'],
  'compile/documents': [
    ...['document', 'values', 'kinds', 'serve'],
    ...['compile/source', 'compile/contract', 'compile/kinds'],
  ],
  compile: ['document', 'values', 'kinds', 'serve', 'compile'],
  generate: ['document', 'values', 'kinds', 'serve', 'compile'],
  mock: ['document', 'values', 'kinds', 'serve', 'mount', 'compile'],
  // By the doors, as others.
  diff: [],
  testing: [],
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
    pathNot: [
      `${engine}(${[room, ...others, 'lib'].join('|')})/`,
      ...(['diff', 'testing', 'mock'].includes(room) ? [doors] : []),
    ],
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
      name: 'the-client-needs-no-engine',
      severity: 'error',
      from: { path: '^packages/client/src/' },
      to: { path: '^contract-engine' },
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
      from: { path: '^(src|generated)/', pathNot: '^src/(commands/compile|auth/plans)[.]ts$' },
      to: { path: '^contract-engine/', pathNot: '^contract-engine/lib/' },
    },
    {
      name: 'tools-for-contracts-run-the-engine-alone',
      severity: 'error',
      from: { path: '^scripts/(generate|features|dev|package)/' },
      to: { path: '^src/(database|http|auth|rate-limit)/', pathNot: declarations, reachable: true },
    },
    {
      name: 'src-not-to-scripts-or-test',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(scripts|test)/' },
    },
    {
      name: 'what-runs-a-service-knows-no-contract',
      severity: 'error',
      from: { path: place(layers.slice(0, -3).flat()), pathNot: '^src/(client|commands/seed)/' },
      to: { path: '^generated/' },
    },
    {
      name: 'only-main-and-tools-import-app',
      severity: 'error',
      from: { pathNot: ['^src/process/serve[.]ts$', '^test/'] },
      to: { path: '^src/app[.]ts$' },
    },
    {
      name: 'every-folder-has-a-layer',
      severity: 'error',
      from: {},
      to: { path: '^src/', pathNot: place(layers.flat()) },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true, // includes type-only imports
    tsConfig: { fileName: 'tsconfig.json' },
  },
}
