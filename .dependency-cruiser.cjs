// The arrows between the folders of src/: each may import from those before it in this list, and none from those after it.
// Folders on one line know nothing of each other.

const layers = [
  ['lib', 'paths', 'operator-error'],
  ['contract'],
  ['errors', 'config', 'log', 'shutdown'],
  ['schemas', 'database'],
  ['auth'],
  ['rate-limit'],
  ['handlers', 'http', 'client'],
  ['operations', 'docs'],
  ['metrics', 'tracing'],
  ['app', 'commands', 'welcome', 'workers', 'ports'],
  ['serve'],
  ['main'],
]

const place = (names) => `^src/(${names.join('|')})(/|[.]ts$)`

const arrows = layers.flatMap((names, i) => [
  {
    name: `${names.join('-')}-imports-from-below-alone`,
    severity: 'error',
    from: { path: place(names) },
    to: { path: place(layers.slice(i + 1).flat()) },
  },
  ...names
    .map((name) => ({
      name: `${name}-knows-no-neighbour`,
      severity: 'error',
      from: { path: place([name]) },
      to: { path: place(names.filter((other) => other !== name)) },
    }))
    .filter(() => names.length > 1),
])

module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    ...arrows,
    {
      name: 'the-service-needs-no-tools',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(scripts|test)/' },
    },
    {
      name: 'the-process-and-tools-alone-build-the-app',
      severity: 'error',
      from: { pathNot: ['^src/serve[.]ts$', '^scripts/lib/server[.]ts$', '^test/'] },
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
    tsPreCompilationDeps: true, // types count, too
    tsConfig: { fileName: 'tsconfig.json' },
  },
}
