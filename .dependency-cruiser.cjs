// Layers of src/, lowest first: a folder imports only from lower layers, and not from its own layer's other folders.

const layers = [
  ['lib'],
  ['config', 'openapi'],
  ['database'],
  ['middleware'],
  ['auth'],
  ['services'],
  ['rate-limit', 'handlers', 'errors'],
  ['http', 'commands', 'client'],
  ['telemetry'],
  ['app'],
  ['process'],
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

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    ...arrows,
    {
      name: 'openapi-imports-lib-alone',
      severity: 'error',
      from: { path: '^src/openapi/' },
      to: { path: '^(src|generated|scripts|test)/', pathNot: '^src/(openapi|lib)/' },
    },
    {
      name: 'openapi-has-four-doors',
      severity: 'error',
      from: { pathNot: ['^src/openapi/', '^test/openapi/'] },
      to: { path: '^src/openapi/', pathNot: '^src/openapi/(index|compile|tools|generate/index)[.]ts$' },
    },
    {
      name: 'the-server-has-no-tools',
      severity: 'error',
      from: { path: '^(src|generated)/', pathNot: '^src/openapi/generate/' },
      to: { path: '^src/openapi/(tools[.]ts$|generate/)' },
    },
    {
      name: 'tools-for-contracts-run-the-engine-alone',
      severity: 'error',
      from: { path: '^scripts/(generate|features|diff|dev|package)/' },
      to: { path: '^src/(database|http|auth|rate-limit)/', pathNot: declarations, reachable: true },
    },
    {
      name: 'tests-of-the-engine-run-it-alone',
      severity: 'error',
      from: { path: '^test/openapi/' },
      to: {
        path: '^(src/(app|database|http|auth|rate-limit|handlers)|generated)[/.]',
        pathNot: declarations,
        reachable: true,
      },
    },
    {
      name: 'src-not-to-scripts-or-test',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(scripts|test)/' },
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
