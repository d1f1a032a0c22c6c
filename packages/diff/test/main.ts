import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { promisify } from 'node:util'
import { readSource } from 'contract-engine/tools'
import { temporaryDirectory } from 'contract-testing/directory'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { toGithub } from '../src/annotations.js'
import { readArguments } from '../src/arguments.js'
import { runCommand } from '../src/command.js'
import { diffContracts } from '../src/contract.js'
import { lineOf, toText } from '../src/report.js'
import { diffFiles, diffSince } from '../src/since.js'
import { checkVersion } from '../src/version.js'
import { packageRoot } from './fixtures/root.js'

// A fixed copy of version 1.0.0 of the contract, so that these tests do not depend on its changes.
const contract = readFileSync(path.join(packageRoot, 'test/fixtures/contract-1.0.0.yaml'), 'utf8')

type Edit = readonly [from: string, to: string]

function edited(...edits: readonly Edit[]): string {
  return edits.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`not in the contract: ${from}`)
    return text.replaceAll(from, to)
  }, contract)
}

// Cached, because parsing a contract takes longer than comparing it, and each is compared in both directions.
const documents = new Map<string, ReturnType<typeof parse>>()
function documentOf(text: string) {
  if (!documents.has(text)) documents.set(text, parse(text))
  return documents.get(text)
}

const linesOf = (before: string, after: string) =>
  diffContracts(documentOf(before), documentOf(after)).map(lineOf)

interface Tables {
  readonly edits: readonly { readonly title: string; readonly edits: Edit[]; readonly lines: string[] }[]
  readonly schemas: readonly Readonly<Record<'before' | 'after' | 'sent' | 'read', string>>[]
}

const tables: Tables = parse(readFileSync(path.join(packageRoot, 'test/edits.yaml'), 'utf8'))
const rows = tables.edits.map(({ title, edits, lines }) => {
  const whole = edits.map(
    ([from, to]): Edit => [from.replace(/^OPERATION (\w+)$/, (_, id) => operation(id)), to],
  )
  return [title, whole, lines] as const
})

// Returns an operation's lines, with its path if it is the only operation there.
function operation(id: string): string {
  const [, item] =
    new RegExp(`\\n( {2}/[^ ]+:\\n {4}\\w+:\\n {6}operationId: ${id}\\n[^]*?)\\n(?=components:|  /)`).exec(
      contract,
    ) ?? []
  if (item === undefined) throw new Error(`the contract has no ${id}`)
  return item
}

t.test('each edit of the contract is reported by its effect on clients', async (t) => {
  for (const [title, edits, lines] of rows) {
    t.strictSame(linesOf(contract, edited(...edits)), lines, title)
  }
})

t.test('each edit is also reported in the opposite direction', async (t) => {
  for (const [title, edits, lines] of rows) {
    t.equal(linesOf(edited(...edits), contract).length > 0, lines.length > 0, title)
  }
})

t.test('removing a request body or a security alternative is breaking', async (t) => {
  const given = edited(
    ['\nsecurity:\n  - apiKey: []\n', '\nsecurity:\n  - apiKey: []\n  - session: []\n'],
    ['operationId: getPet\n', 'operationId: getPet\n      requestBody: { content: { text/plain: {} } }\n'],
  )
  t.strictSame(linesOf(contract, given), [
    'minor     GET /pets  security apiKey -> apiKey or session',
    'minor     GET /pets/{petId}  security apiKey -> apiKey or session',
    'minor     GET /pets/{petId}  body: added',
    'minor     POST /pets  security apiKey -> apiKey or session',
  ])
  t.strictSame(linesOf(given, contract), [
    'breaking  GET /pets  security apiKey or session -> apiKey',
    'breaking  GET /pets/{petId}  security apiKey or session -> apiKey',
    'breaking  GET /pets/{petId}  body: removed',
    'breaking  POST /pets  security apiKey or session -> apiKey',
  ])
})

const api = (schema: string, more = '') => `
openapi: 3.1.0
info: { version: 1.0.0 }
paths:
  /things:
    post:
      requestBody: { content: { application/json: { schema: &it ${schema} } } }
      responses: { '200': { content: { application/json: { schema: ${schema} } } } }
components:
  schemas:
    A: { maximum: 9 }
${more}`

t.test('a request schema must not narrow, a response schema must not widen', async (t) => {
  const expected = (where: string, line: string) => {
    if (line === '') return []
    const [, mark, what = ''] = /^(! )?(.*)$/.exec(line) ?? []
    const place = /^[.[(]/.test(what) ? `${where}${what}` : `${where}: ${what}`
    return [`${mark ? 'breaking' : 'minor   '}  POST /things  ${place}`]
  }
  for (const { before, after, sent, read } of tables.schemas) {
    const lines = linesOf(api(before), api(after)).filter((line) => !line.startsWith('patch'))
    t.strictSame(
      lines.sort(),
      [...expected('body', sent), ...expected('200 body', read)].sort(),
      `${before} -> ${after}`,
    )
  }
})

t.test('integers beyond 2^53 are reported exactly', async (t) => {
  const parsed = (id: object) => ({
    openapi: '3.1.0',
    paths: {
      '/pets': {
        get: {
          parameters: [{ name: 'id', in: 'query', schema: { type: 'integer', format: 'int64', ...id } }],
          responses: {},
        },
      },
    },
  })
  const [one, three] = [2n ** 53n + 1n, 2n ** 53n + 3n]
  const lines = (before: object, after: object) => diffContracts(parsed(before), parsed(after)).map(lineOf)
  t.strictSame(lines({ enum: [1, one], default: one }, { enum: [1] }), [
    'breaking  GET /pets  query.id: default 9007199254740993 removed',
    'breaking  GET /pets  query.id: enum value 9007199254740993 removed',
  ])
  t.strictSame(lines({ maximum: three }, { maximum: one }), [
    'breaking  GET /pets  query.id: maximum 9007199254740995 -> 9007199254740993',
  ])
})

t.test('recursive schemas are compared completely', async (t) => {
  const tree = (maximum: number) =>
    api(
      '{ $ref: "#/components/schemas/Tree" }',
      `    Tree:
      properties:
        size: { type: integer, maximum: ${maximum} }
        branches: { type: array, items: { $ref: "#/components/schemas/Tree" } }
        trunk: { $ref: "#/components/schemas/Tree", description: The trunk. }
`,
    )
  t.strictSame(linesOf(tree(9), tree(9)), [])
  t.strictSame(
    linesOf(tree(9), tree(8)).filter((line) => /body\.size/.test(line)),
    [
      'breaking  POST /things  body.size: maximum 9 -> 8',
      'minor     POST /things  200 body.size: maximum 9 -> 8',
    ],
  )
  t.strictSame(
    linesOf(api('{ type: object }'), tree(9)).filter((line) => line.startsWith('breaking')),
    [],
  )
})

t.test('a circular $ref is named', async (t) => {
  const text = api('{ $ref: "#/components/schemas/B" }', '    B: { $ref: "#/components/schemas/B" }\n')
  const file = path.join(temporaryDirectory(t, { 'openapi.yaml': text }), 'openapi.yaml')
  await t.rejects(diffFiles(file, file), {
    name: 'DiffError',
    message: /openapi\.yaml:\d+:5: \$ref #\/components\/schemas\/B refers back to itself$/,
  })
})

t.test('what looks like a $ref in data is compared as data', async (t) => {
  const of = (value: string) =>
    `{ type: object, default: { $ref: "${value}" }, example: { $ref: "${value}" } }`
  const self = api(of('#/components/schemas/B/default'), `    B: ${of('#/components/schemas/B/default')}\n`)
  t.strictSame(linesOf(self, self), [])
  const nowhere = api(of('#/nowhere'), `    B: ${of('#/nowhere')}\n`)
  t.ok(linesOf(self, nowhere).length > 0)
})

t.test('an annotation has the line in the new document, and is escaped', async (t) => {
  const annotate = async (before: string, after: string, file = 'openapi.yaml') => {
    const documents = [documentOf(before), documentOf(after)] as const
    const changes = diffContracts(...documents)
    const { locate } = await readSource('openapi.yaml', async () => after)
    return toGithub({ file, locate }, changes, checkVersion(...documents, changes))
      .trimEnd()
      .split('\n')
      .filter((line) => !line.includes('title=Version'))
  }
  const lineOfText = (text: string, part: string) => text.slice(0, text.indexOf(part)).split('\n').length

  // Each edit is annotated at its line; a removal at the line of its parent.
  const places: readonly (readonly [edit: Edit, at: string])[] = [
    [['            maximum: 100\n', '            maximum: 50\n'], '            maximum: 50'],
    [
      ["        '413':\n          $ref: '#/components/responses/BodyTooLarge'\n", ''],
      "      responses:\n        '201'",
    ],
    [['- name: cursor\n          in: query', '- name: page\n          in: query'], '- name: page'],
    [['      scheme: bearer', '      scheme: basic'], '      scheme: basic'],
    [['enum: [available, pending, sold]', 'enum: [available, pending]'], '      enum: [available, pending]'],
    [['operationId: listPets\n', 'operationId: listPets\n      security: []\n'], '      security: []'],
    [['required: [id, name, categoryId]', 'required: [id, name]'], '      required: [id, name]'],
    [['    enterprise: custom', ''], '  plans:'],
    [[operation('getPet'), ''], 'paths:'],
    [['summary: List animals', 'summary: List all animals'], '      summary: List all'],
  ]
  for (const [edit, at] of places) {
    const after = edited(edit)
    const lines = (await annotate(contract, after)).map((line) => /,line=(\d+),/.exec(line)?.[1])
    t.ok(lines.includes(String(lineOfText(after, at))), `${at}: ${lines}`)
  }

  const broken = api('{ pattern: "50%\\r\\n" }')
  const [sent] = await annotate(api('{}'), broken, 'a,b:c%.yaml')
  t.equal(
    sent,
    '::error file=a%2Cb%3Ac%25.yaml,line=7,col=67,title=Breaking change::POST /things  body: pattern 50%25%0D%0A added',
  )
  const [raised, more] = [api('{ maximum: 9 }'), api('{ maximum: 8 }').replace('1.0.0', '2.0.0')]
  t.match(await annotate(raised, more), [
    /^::warning .*,title=Breaking change::/,
    /^::notice .*,title=Addition::/,
  ])
})

t.test('the version is enough if it was raised as far as the changes require', async (t) => {
  const table = [
    ['major', '1.2.3', '2.0.0', true],
    ['major', '1.2.3', '1.3.0', false],
    ['major', '9.0.0', '10.0.0', true],
    ['major', '2.0.0', '1.0.0', false],
    ['minor', '1.2.3', '1.3.0', true],
    ['minor', '1.2.3', '2.0.0', true],
    ['minor', '1.2.3', '1.2.4', false],
    ['patch', '1.2.3', '1.2.4', true],
    ['patch', '1.2.3', '1.2.3', false],
    ['major', '1.0', '2.0', true],
    ['major', '1.9', '1.10', false],
    ['minor', '1.9', '1.10', true],
    ['patch', '1.0', '1.0.1', true],
    ['major', 'v1', 'v2', true],
    ['minor', 'v1', 'v1', false],
    ['major', '2026-01', '2027-01', false],
    ['major', '2026-01-31', '2027-01-31', false],
  ] as const
  for (const [bump, before, after, isEnough] of table) {
    const changes = [{ bump, place: '', where: '', what: '', at: [] }]
    t.match(
      checkVersion({ info: { version: before } }, { info: { version: after } }, changes),
      { bump, before, after, isEnough },
      `${bump}: ${before} -> ${after}`,
    )
  }
  t.match(checkVersion({}, {}, []), { bump: 'none', isEnough: true })
})

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function run(cwd: string, program: string, ...args: string[]): Promise<Outcome> {
  // Without the user's git configuration and the NODE_OPTIONS of the test runner.
  const env = { PATH: process.env.PATH ?? '', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
  try {
    return { code: 0, ...(await promisify(execFile)(program, args, { cwd, env })) }
  } catch (error) {
    const { code, stdout, stderr } = error as Outcome // execFile rejects with the output and the exit code
    return { code, stdout, stderr }
  }
}

// Writes a contract to a folder in a temporary directory.
function contractIn(t: Test, ...folders: string[]): string {
  const folder = path.join(temporaryDirectory(t), ...folders)
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, 'openapi.yaml'), contract)
  return path.join(folder, 'openapi.yaml')
}

async function commit(file: string, root = path.dirname(file)): Promise<void> {
  await git(root, 'init', '--quiet')
  await git(root, 'add', path.relative(root, file))
  await git(root, 'commit', '--quiet', '--message', 'Begin')
}

async function git(cwd: string, ...args: string[]): Promise<void> {
  const { code, stderr } = await run(cwd, 'git', '-c', 'user.name=A', '-c', 'user.email=a@localhost', ...args)
  if (code !== 0) throw new Error(stderr)
}

const lower: Edit = ['            maximum: 100\n', '            maximum: 50\n']
const higher: Edit = ['            maximum: 100\n', '            maximum: 200\n']

t.test('changes since a commit are reported; a breaking change requires a new major version', async (t) => {
  const file = contractIn(t)
  await commit(file)
  const table: readonly (readonly [edits: readonly Edit[], isEnough: boolean, text: string])[] = [
    [[], true, 'No changes since HEAD: no new version is required.\n'],
    [
      [['version: 1.0.0', 'version: 1.1.0']],
      true,
      'No changes since HEAD except the version, 1.0.0 -> 1.1.0: no new version is required.\n',
    ],
    [
      [higher],
      false,
      `minor     GET /pets  query.limit: maximum 100 -> 200

0 breaking, 1 minor, 0 patch: requires a minor version; 1.0.0 (unchanged) is not enough.
`,
    ],
    [
      [lower, ['summary: List animals', 'summary: List all animals'], ['version: 1.0.0', 'version: 1.1.0']],
      false,
      `breaking  GET /pets  query.limit: maximum 100 -> 50
patch     GET /pets  summary List animals -> List all animals

1 breaking, 0 minor, 1 patch: requires a major version; 1.0.0 -> 1.1.0 is not enough.
`,
    ],
    [
      [lower, ['version: 1.0.0', 'version: 2.0.0']],
      true,
      `breaking  GET /pets  query.limit: maximum 100 -> 50

1 breaking, 0 minor, 0 patch: requires a major version; 1.0.0 -> 2.0.0 is enough.
`,
    ],
    [
      [lower, ['/v1\n', '/v2\n']],
      true,
      `breaking  GET /pets  query.limit: maximum 100 -> 50
breaking  servers  path /v1 -> /v2

2 breaking, 0 minor, 0 patch: requires a major version; the new server path is enough.
`,
    ],
  ]
  for (const [edits, isEnough, text] of table) {
    writeFileSync(file, edited(...edits))
    const { changes, version } = await diffSince('HEAD', file)
    t.equal(
      toText('HEAD', changes, version, (_, plain) => plain),
      text,
    )
    t.equal(version.isEnough, isEnough)
  }
})

t.test('a contract in a folder of the repository can be compared with any commit', async (t) => {
  const file = contractIn(t, 'repository', 'project')
  await commit(file, path.join(file, '../..'))
  await git(path.dirname(file), 'tag', 'v1.0.0')
  writeFileSync(file, edited(lower))
  await git(path.dirname(file), 'commit', '--quiet', '--all', '--message', 'Lower')
  t.strictSame((await diffSince('HEAD', file)).changes, [])
  for (const ref of ['HEAD~1', 'v1.0.0']) {
    t.match((await diffSince(ref, file)).changes, [{ what: 'maximum 100 -> 50' }], ref)
  }
})

t.test('errors are reported in one line', async (t) => {
  const file = contractIn(t)
  const rejects = (ref: string, message: string | RegExp) =>
    t.rejects(diffSince(ref, file), { name: 'DiffError', message })
  await rejects('HEAD', /^fatal: not a git repository.*$/)
  await commit(file)
  for (const ref of ['nowhere', 'HEAD:openapi.yaml', '--all']) await rejects(ref, `unknown commit ${ref}`)
  writeFileSync(file, 'paths: [')
  await rejects('HEAD', /^[^\n]*openapi\.yaml:\d+:\d+: .+$/)
  for (const text of ['[]', '']) {
    writeFileSync(file, text)
    await rejects('HEAD', /openapi\.yaml:1:1: the file must contain a mapping: [^\n]+$/)
  }
  await git(path.dirname(file), 'rm', '--quiet', '--cached', 'openapi.yaml')
  await git(path.dirname(file), 'commit', '--quiet', '--message', 'Remove')
  await rejects('HEAD', 'no openapi.yaml at HEAD')
})

t.test(
  'the command exits 1 if the version is not enough and 2 for wrong usage, and prints JSON and annotations',
  async (t) => {
    const file = contractIn(t)
    const diff = async (...args: string[]) => {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()]
      const code = await runCommand(['--git', file, ...args], { stdout, stderr })
      const textOf = (stream: PassThrough) => String(stream.read() ?? '')
      return { code, stdout: textOf(stdout), stderr: textOf(stderr) }
    }
    await commit(file)
    writeFileSync(file, edited(lower, ['version: 1.0.0', 'version: 1.0.1']))
    t.match(await diff('--format', 'text', 'HEAD'), { code: 1, stdout: /maximum 100 -> 50/, stderr: '' })
    const { code, stdout, stderr } = await diff('--json', 'HEAD')
    t.equal(code, 1)
    t.equal(stderr, '')
    t.strictSame(JSON.parse(stdout), {
      ref: 'HEAD',
      version: { before: '1.0.0', after: '1.0.1', isEnough: false, isNewPath: false },
      bump: 'major',
      changes: [
        {
          breaking: true,
          bump: 'major',
          place: 'GET /pets',
          where: 'query.limit',
          what: 'maximum 100 -> 50',
        },
      ],
    })

    const annotations = await diff('--format', 'github', 'HEAD')
    t.match(annotations, { code: 1, stderr: '' })
    const line = (text: string) => readFileSync(file, 'utf8').split('\n').indexOf(text) + 1
    t.equal(
      annotations.stdout,
      `::error file=openapi.yaml,line=${line('            maximum: 50')},col=13,title=Breaking change::GET /pets  query.limit: maximum 100 -> 50
::error file=openapi.yaml,line=${line('  version: 1.0.1')},col=3,title=Version::1 breaking, 0 minor, 0 patch: requires a major version; 1.0.0 -> 1.0.1 is not enough.
`,
    )

    const added = [
      '- name: cursor\n',
      '- { name: q, in: query, schema: {} }\n        - name: cursor\n',
    ] as const
    for (const [version, code] of [
      ['1.0.0', 1],
      ['1.0.1', 1],
      ['1.1.0', 0],
    ] as const) {
      writeFileSync(file, edited(added, ['version: 1.0.0', `version: ${version}`]))
      t.match(await diff('HEAD'), { code, stdout: /requires a minor version/ }, version)
    }

    writeFileSync(file, contract)
    t.match(await diff('HEAD'), { code: 0, stdout: /^No changes/ })
    const wrong = /^diff: Unknown option '--jsn'.*; see --help\n$/
    t.match(await diff('--jsn', 'HEAD'), { code: 2, stdout: '', stderr: wrong })
  },
)

t.test('without changes, there are no annotations', async (t) => {
  const { locate } = await readSource('openapi.yaml', async () => contract)
  const document = documentOf(contract)
  t.equal(toGithub({ file: 'openapi.yaml', locate }, [], checkVersion(document, document, [])), '')
})

t.test('the arguments are two contracts, or a contract and a ref, and a format', async (t) => {
  const files = { before: 'old.yaml', file: 'new.yaml', isRef: false, extensions: [], format: 'text' }
  t.strictSame(readArguments(['old.yaml', 'new.yaml']), files)
  const sinceHead = { before: 'HEAD', file: 'openapi.yaml', isRef: true, extensions: [], format: 'text' }
  const given = ['--git', 'openapi.yaml']
  t.strictSame(readArguments([...given, 'HEAD']), sinceHead)
  t.strictSame(readArguments([...given, 'HEAD', '--format=github']), { ...sinceHead, format: 'github' })
  t.strictSame(readArguments([...given, '--json', 'HEAD']), { ...sinceHead, format: 'json' })
  t.strictSame(readArguments(['--extension', 'x-a', '--extension=x-b', ...given, 'HEAD']), {
    ...sinceHead,
    extensions: ['x-a', 'x-b'],
  })
  t.equal(readArguments(['-h']), 'help')
  const two = 'two contracts, the older one first, are required; see --help'
  const one = 'a contract and one git ref, such as HEAD, are required; see --help'
  const wrong: [args: string[], message: string][] = [
    [[], two],
    [['old.yaml'], two],
    [['a.yaml', 'b.yaml', 'c.yaml'], two],
    [given, one],
    [[...given, 'HEAD', 'HEAD'], one],
    [['--format', 'gitlab', ...given, 'HEAD'], 'unknown format gitlab; the formats are text and github'],
    [['--format', 'github', '--json', ...given, 'HEAD'], '--json and --format are mutually exclusive'],
  ]
  for (const [args, message] of wrong) t.throws(() => readArguments(args), { name: 'DiffError', message })
})

t.test('two files are compared, wherever they are', async (t) => {
  const [older, newer] = [contractIn(t), contractIn(t)]
  writeFileSync(newer, edited(lower))
  const { changes, version, source } = await diffFiles(older, newer)
  t.match(changes, [{ what: 'maximum 100 -> 50' }])
  t.equal(version.isEnough, false)
  t.equal(source.file, newer)
  writeFileSync(older, '[]')
  await t.rejects(diffFiles(older, newer), {
    name: 'DiffError',
    message: /openapi\.yaml:1:1: the file must contain a mapping/,
  })
})

t.test('--root names the folder of the files of both', async (t) => {
  const text = (name: string) => `openapi: 3.1.0
info: { version: 1.0.0 }
paths: {}
components: { schemas: { A: { $ref: ../common/${name}.yaml }, B: { $ref: ../common/B.yaml } } }
`
  const common = { 'A.yaml': 'maximum: 9\n', 'A2.yaml': 'maximum: 8\n', 'B.yaml': 'minimum: 1\n' }
  const folder = temporaryDirectory(t, { v1: { 'a.yaml': text('A') }, v2: { 'a.yaml': text('A2') }, common })
  const given = ['v1', 'v2'].map((name) => path.join(folder, name, 'a.yaml'))
  const streams = () => ({ stdout: new PassThrough(), stderr: new PassThrough() })
  const refused = streams()
  t.equal(await runCommand(given, refused), 2)
  const lines = String(refused.stderr.read()).trimEnd().split('\n')
  t.equal(lines.length, 2, 'each file that is outside is told')
  for (const [i, name] of ['A', 'B'].entries())
    t.match(
      lines[i],
      new RegExp(`v1/a\\.yaml:4:\\d+: .*/common/${name}\\.yaml is outside .* the option --root$`),
    )
  const told = streams()
  t.equal(await runCommand(['--root', folder, ...given], told), 0)
})

type Document = Record<string, unknown> & { paths: Record<string, Record<string, unknown>> }

function getOf({ paths }: Document, path: string): Record<string, unknown> {
  return paths[path]?.get as Record<string, unknown>
}

// Returns the lines for an edit of a small contract, on a day.
function edit(given: string, change: (document: Document) => void, day = '2026-11-26'): string[] {
  const [before, after] = [parse(given), parse(given)]
  change(after)
  return diffContracts(before, after, Date.parse(`${day}T12:00:00Z`)).map(lineOf)
}

const ended = (more: string) => `
openapi: 3.1.0
info: { version: 1.0.0 }
paths:
  /old:
    get:
      operationId: old
      deprecated: true
      x-deprecated-at: 2026-01-01
      x-sunset: 2026-06-01${more}
      parameters: [{ name: q, in: query, schema: { type: string } }]
      responses: { '200': { description: Old. } }
  /new:
    get: { operationId: new, responses: { '200': { description: New. } } }
`
const [served, gone] = [ended(''), ended('\n      x-after-sunset: gone')]
const remove = ({ paths }: Document) => delete paths['/old']

t.test('an operation that is gone can be removed; what ends one is breaking', async (t) => {
  t.strictSame(edit(gone, remove), ['minor     GET /old  operation removed, gone since its sunset'])
  t.strictSame(edit(gone, remove, '2026-05-31'), ['breaking  GET /old  operation removed'], 'before it')
  t.strictSame(edit(served, remove), ['breaking  GET /old  operation removed'], 'still served')

  const operation = (document: Document) => getOf(document, '/old')
  const set = (key: string, value: unknown) => (document: Document) => {
    operation(document)[key] = value
  }
  const end = set('x-after-sunset', 'gone')
  t.strictSame(edit(served, end), ['breaking  GET /old  after the sunset gone added'])
  t.strictSame(edit(served, end, '2026-05-31'), ['minor     GET /old  after the sunset gone added'])
  t.strictSame(
    edit(gone, set('x-after-sunset', 'serve')),
    ['minor     GET /old  after the sunset gone -> serve'],
    'it is served again',
  )
  t.strictSame(edit(gone, set('x-sunset', '2026-12-01')), [
    'minor     GET /old  sunset 2026-06-01 -> 2026-12-01',
  ])
  t.strictSame(edit(gone, set('x-sunset', '2026-02-01')), [
    'minor     GET /old  sunset 2026-06-01 -> 2026-02-01',
  ])
  t.strictSame(
    edit(served, (document) => {
      end(document)
      operation(document)['x-sunset'] = '2026-11-01'
    }),
    [
      'breaking  GET /old  after the sunset gone added',
      'breaking  GET /old  sunset 2026-06-01 -> 2026-11-01',
    ],
    'a later sunset that has passed, too',
  )
  const drop = set('parameters', [])
  t.strictSame(edit(gone, drop), ['patch     GET /old  query.q: removed'], 'every request gets a 410')
  t.strictSame(edit(served, drop), ['breaking  GET /old  query.q: removed'])
})

const typed = `
openapi: 3.1.0
info: { version: 1.0.0 }
paths:
  /a:
    get:
      operationId: getA
      responses:
        '200': { content: { application/json: {}, application/hal+json: {}, text/csv: {} } }
        '404': { content: { application/json: {} } }
  /b/{id}:
    get:
      operationId: getB
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      responses:
        '200': { content: { text/csv: {}, text/html: {} } }
        '404': { content: { application/problem+json: {} } }
`

const withSchemes = `
openapi: 3.1.0
info: { version: 1.0.0 }
paths: {}
x-rate-limits:
  plans: { free: { perMinute: 60, perDay: 1000 }, pro: { perMinute: 600, perDay: 1000 } }
  schemes: { partner: { plan: free }, staff: { plan: pro, claim: tier } }
`

t.test("another plan of a scheme's callers is breaking if a quota is lower", async (t) => {
  const linesOf = (schemes: object) =>
    edit(withSchemes, (document) => {
      Object.assign(document['x-rate-limits'] as object, { schemes })
    })
  const [partner, staff] = [{ plan: 'free' }, { plan: 'pro', claim: 'tier' }]
  t.strictSame(linesOf({ staff, partner }), [])
  t.strictSame(linesOf({ partner: { plan: 'pro', claim: 'tier' }, staff }), [
    'minor     x-rate-limits  schemes.partner: claim tier added',
    'minor     x-rate-limits  schemes.partner: plan free -> pro',
  ])
  t.strictSame(linesOf({ partner, staff: { plan: 'free' } }), [
    'breaking  x-rate-limits  schemes.staff: claim tier removed',
    'breaking  x-rate-limits  schemes.staff: plan pro -> free',
  ])
  t.strictSame(linesOf({ partner, guest: partner }), [
    'breaking  x-rate-limits  schemes.staff: plan of its callers removed',
    'minor     x-rate-limits  schemes.guest: plan of its callers added',
  ])
})

t.test('the order that decides what is sent is compared', async (t) => {
  const order = (path: string, status: string, types: readonly string[]) => (document: Document) => {
    const responses = getOf(document, path).responses as Record<string, unknown>
    responses[status] = { content: Object.fromEntries(types.map((type) => [type, {}])) }
  }
  const sent = [
    'breaking  GET /a  200 body: media type application/hal+json is sent instead of application/json',
  ]
  t.strictSame(
    edit(typed, order('/a', '200', ['application/hal+json', 'application/json', 'text/csv'])),
    sent,
  )
  const preferred = (is: string, was: string, range = '*/*', where = 'GET /a  200') =>
    `breaking  ${where} body: media type ${is} is preferred to ${was} by Accept: ${range}`
  const [json, hal, csv] = ['application/json', 'application/hal+json', 'text/csv']
  t.strictSame(edit(typed, order('/a', '200', [csv, json, hal])), [preferred(csv, json)])
  t.strictSame(edit(typed, order('/a', '200', [json, csv, hal])), [], 'nothing precedes what did not before')
  t.strictSame(edit(typed, order('/b/{id}', '200', ['text/html', csv])), [
    preferred('text/html', csv, '*/*', 'GET /b/{id}  200'),
    preferred('text/html', csv, 'text/*', 'GET /b/{id}  200'),
  ])
  const added = (type: string) => `minor     GET /a  200 body: media type ${type} added`
  t.strictSame(edit(typed, order('/a', '200', ['image/png', json, hal, csv])), [
    preferred('image/png', json),
    added('image/png'),
  ])
  t.strictSame(edit(typed, order('/a', '200', [json, hal, 'text/html', csv])), [
    preferred('text/html', csv, 'text/*'),
    added('text/html'),
  ])
  t.strictSame(edit(typed, order('/a', '200', [json, hal, csv, 'text/html'])), [added('text/html')])
  const errors = edit(typed, (document) => {
    document.paths = Object.fromEntries(Object.entries(document.paths).reverse())
  })
  t.strictSame(errors, ['breaking  errors  media type application/json -> application/problem+json'])
})

t.test('what the server reads is compared, not how it is written', async (t) => {
  const same: readonly (readonly [title: string, (document: Document) => void])[] = [
    [
      'a path item of the components',
      (document) => {
        document.components = { pathItems: { A: document.paths['/a'] } }
        document.paths['/a'] = { $ref: '#/components/pathItems/A' }
      },
    ],
    [
      'a derived operationId',
      (document) => {
        delete getOf(document, '/a').operationId
      },
    ],
    [
      'an undeclared path parameter',
      (document) => {
        delete getOf(document, '/b/{id}').parameters
      },
    ],
    [
      'another version of OpenAPI',
      (document) => {
        document.openapi = '3.0.3'
      },
    ],
    [
      'an explicit dialect',
      (document) => {
        document.jsonSchemaDialect = 'https://spec.openapis.org/oas/3.1/dialect/base'
      },
    ],
    [
      'a percent-encoded path',
      (document) => {
        document.paths['/%62/{id}'] = document.paths['/b/{id}'] ?? {}
        delete document.paths['/b/{id}']
      },
    ],
  ]
  for (const [title, change] of same) t.strictSame(edit(typed, change), [], title)
})

t.test('a stream is the same however its version of OpenAPI describes the items', async (t) => {
  const toy = { type: 'object', properties: { name: { type: 'string' } } }
  const documentOf = (openapi: string, content: object) => {
    const get = { operationId: 'watch', responses: { 200: { description: 'Toys.', content } } }
    return { openapi, info: { title: 'Toys', version: '1.0.0' }, paths: { '/toys': { get } } }
  }
  const json = { type: 'string', contentMediaType: 'application/json', contentSchema: toy }
  const eventOf = (data: object) => ({ type: 'object', required: ['data'], properties: { data } })
  const pairs: readonly (readonly [type: string, old: object, next: object])[] = [
    ['application/jsonl', { schema: toy }, { itemSchema: toy }],
    ['application/json-seq', { schema: toy }, { schema: { type: 'array', items: toy } }],
    ['text/event-stream', { schema: { type: 'string' } }, { itemSchema: eventOf({ type: 'string' }) }],
    ['text/event-stream', { schema: toy }, { itemSchema: eventOf(json) }],
    ['text/event-stream', { schema: eventOf(toy) }, { itemSchema: eventOf(json) }],
  ]
  for (const [type, old, next] of pairs) {
    const [before, after] = [documentOf('3.1.0', { [type]: old }), documentOf('3.2.0', { [type]: next })]
    t.strictSame(diffContracts(before, after), [], JSON.stringify([type, old]))
    t.strictSame(diffContracts(after, before), [], JSON.stringify([type, next]))
  }
})

t.test('as rows of an array, and as a stream, a response is the same to its clients', async (t) => {
  const of = (media: object) => ({
    openapi: '3.2.0',
    info: { title: 'Rows', version: '1.0.0' },
    paths: {
      '/a': {
        get: { operationId: 'a', responses: { 200: { description: 'A.', content: { 'text/csv': media } } } },
      },
    },
  })
  const flat = { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' } } }
  const table = { type: 'array', items: flat }
  t.strictSame(diffContracts(of({ schema: table }), of({ itemSchema: flat })), [])
})

t.test('a higher version in the path of every URL is enough for a breaking change', async (t) => {
  const api = (prefix: string, ...paths: string[]) => ({
    info: { version: '1.0.0' },
    ...(prefix && { servers: [{ url: prefix }] }),
    paths: Object.fromEntries(paths.map((path) => [path, { get: {} }])),
  })
  const table = [
    [api('/v1', '/a'), api('/v2', '/a'), true],
    [api('', '/v1/a'), api('', '/v2/a'), true],
    [api('/v1', '/a'), api('', '/v2/a'), true],
    [api('/v9', '/a'), api('/v10', '/a'), true],
    [api('/v1', '/a'), api('/v1', '/b'), false],
    [api('/v1', '/a'), api('', '/v1/a', '/v2/a'), false],
    [api('/v1', '/a'), api('', '/a'), false],
    [api('', '/a'), api('/v1', '/a'), false],
    [api('/v1'), api('/v2'), false],
  ] as const
  const changes = [{ bump: 'major', place: '', where: '', what: '', at: [] }] as const
  for (const [before, after, isNewPath] of table)
    t.match(
      checkVersion(before, after, changes),
      { isNewPath, isEnough: isNewPath },
      JSON.stringify([before, after]),
    )
})

// Ways to close an object, around or beside the schema that describes its field `b`.
const closed: readonly string[] = [
  '{ type: object, properties: { a: {}, B }, additionalProperties: false }',
  '{ type: object, properties: { a: {}, B }, unevaluatedProperties: false }',
  '{ allOf: [{ type: object, properties: { a: {}, B } }], unevaluatedProperties: false }',
  '{ allOf: [{ $ref: "#/components/schemas/A" }, { type: object, properties: { B } }], unevaluatedProperties: false }',
  '{ $ref: "#/components/schemas/With", unevaluatedProperties: false }',
  '{ allOf: [{ allOf: [{ $ref: "#/components/schemas/With" }] }], unevaluatedProperties: false }',
  '{ type: object, oneOf: [{ properties: { k: { const: 1 }, B }, required: [k] }, { properties: { k: { const: 2 } }, required: [k] }], unevaluatedProperties: false }',
  '{ type: object, anyOf: [{ properties: { B } }, { properties: { c: {} } }], unevaluatedProperties: false }',
  '{ type: object, oneOf: [{ $ref: "#/components/schemas/With" }], unevaluatedProperties: false }',
  '{ type: object, if: { required: [a] }, then: { properties: { B } }, properties: { a: {} }, unevaluatedProperties: false }',
  '{ type: object, dependentSchemas: { a: { properties: { B } } }, properties: { a: {} }, unevaluatedProperties: false }',
  '{ type: object, anyOf: [{ anyOf: [{ properties: { B } }, { properties: { c: {} } }] }, { properties: { d: {} } }], unevaluatedProperties: false }',
  '{ type: object, patternProperties: { "^b": {} }, additionalProperties: false }',
  '{ type: object, properties: { B }, additionalProperties: { type: integer } }',
  '{ type: object, properties: { B }, patternProperties: { "^b": { type: integer } } }',
]

const more = `
    With: { type: object, properties: { a: {}, b: { type: string } } }
    Without: { type: object, properties: { a: {} } }
`

t.test('a removed request field is breaking wherever the object is closed', async (t) => {
  for (const schema of closed) {
    const remove = (text: string) =>
      text
        .replace(/, B\b|\bB\b,? ?/, '')
        .replace('patternProperties: { "^b": {} }, ', '')
        .replace('With', 'Without')
    for (const place of ['X', '{ type: object, properties: { in: X } }', '{ type: array, items: X }']) {
      const withField = (text: string) =>
        api(place.replace('X', text.replace(/\bB\b/, 'b: { type: string }')), more)
      const lines = linesOf(withField(schema), withField(remove(schema)))
      t.ok(
        lines.some((line) => /^breaking {2}POST \/things {2}body/.test(line)),
        `${place}: ${schema}\n${lines.join('\n')}`,
      )
      t.strictSame(linesOf(withField(schema), withField(schema)), [], schema)
    }
  }
})

// Pairs of schemas with one keyword: the second accepts everything that the first accepts, and more.
const narrowings: readonly (readonly [narrow: string, wide: string])[] = [
  ['{ type: string }', '{ type: [string, "null"] }'],
  ['{ type: integer }', '{ type: number }'],
  ['{ enum: [a] }', '{ enum: [a, b] }'],
  ['{ const: a }', '{ type: string }'],
  ['{ type: number, minimum: 2 }', '{ type: number, minimum: 1 }'],
  ['{ type: number, maximum: 1 }', '{ type: number, maximum: 2 }'],
  ['{ type: number, exclusiveMinimum: 1 }', '{ type: number, minimum: 1 }'],
  ['{ type: number, exclusiveMaximum: 1 }', '{ type: number, maximum: 1 }'],
  ['{ type: number, multipleOf: 4 }', '{ type: number, multipleOf: 2 }'],
  ['{ type: integer, format: int32 }', '{ type: integer, format: int64 }'],
  ['{ type: string, minLength: 2 }', '{ type: string, minLength: 1 }'],
  ['{ type: string, maxLength: 1 }', '{ type: string, maxLength: 2 }'],
  ['{ type: string, pattern: ^a }', '{ type: string }'],
  ['{ type: string, format: date }', '{ type: string }'],
  ['{ type: array, minItems: 2 }', '{ type: array, minItems: 1 }'],
  ['{ type: array, maxItems: 1 }', '{ type: array, maxItems: 2 }'],
  ['{ type: array, uniqueItems: true }', '{ type: array }'],
  ['{ type: array, items: { type: integer } }', '{ type: array, items: { type: number } }'],
  ['{ type: array, items: false }', '{ type: array }'],
  ['{ type: array, prefixItems: [{ type: integer }] }', '{ type: array }'],
  ['{ type: object, required: [a] }', '{ type: object }'],
  ['{ type: object, minProperties: 2 }', '{ type: object, minProperties: 1 }'],
  ['{ type: object, maxProperties: 1 }', '{ type: object, maxProperties: 2 }'],
  ['{ type: object, propertyNames: { maxLength: 1 } }', '{ type: object }'],
  ['{ type: object, dependentRequired: { a: [b] } }', '{ type: object }'],
  ['{ type: object, dependentSchemas: { a: { required: [b] } } }', '{ type: object }'],
  ['{ type: object, patternProperties: { ^a: { type: integer } } }', '{ type: object }'],
  [
    '{ type: object, additionalProperties: { type: integer } }',
    '{ type: object, additionalProperties: { type: number } }',
  ],
  [
    '{ anyOf: [{ type: string }, { type: "null" }] }',
    '{ anyOf: [{ type: string }, { type: "null" }, { type: boolean }] }',
  ],
  [
    '{ oneOf: [{ type: string, maxLength: 1 }, { type: object }] }',
    '{ oneOf: [{ type: string }, { type: object }] }',
  ],
  [
    '{ allOf: [{ type: object, not: { required: [z] } }, { minProperties: 1 }] }',
    '{ type: object, not: { required: [z] } }',
  ],
  [
    '{ type: object, if: { required: [a] }, then: { required: [b] } }',
    '{ type: object, if: { required: [a] } }',
  ],
]
const nestings: readonly string[] = [
  'X',
  '{ type: object, properties: { in: X } }',
  '{ type: object, required: [in], properties: { in: X }, additionalProperties: false }',
  '{ type: array, items: X }',
  '{ type: array, prefixItems: [X] }',
  '{ type: object, additionalProperties: X }',
  '{ type: object, patternProperties: { ^x: X } }',
  '{ type: object, unevaluatedProperties: X, anyOf: [{ properties: { k: {} } }, { properties: { l: {} } }] }',
  '{ type: object, dependentSchemas: { a: { properties: { in: X } } } }',
  '{ type: object, if: { required: [a] }, then: { properties: { in: X } } }',
  '{ type: object, allOf: [{ properties: { in: X } }, { additionalProperties: false }] }',
  '{ type: object, properties: { in: { oneOf: [X] } } }',
  '{ type: object, properties: { in: { allOf: [X, { description: It. }] } } }',
]

t.test('each keyword that narrows or widens is reported, wherever it is', async (t) => {
  const breaks = (before: string, after: string) => {
    const lines = linesOf(before, after).filter((line) => line.startsWith('breaking'))
    return [...new Set(lines.map((line) => (line.includes(' 200 ') ? 'responses' : 'requests')))].join()
  }
  for (const nesting of nestings) {
    for (const [narrow, wide] of narrowings) {
      const [tight, loose] = [api(nesting.replace('X', narrow)), api(nesting.replace('X', wide))]
      const title = `${narrow} and ${wide} in ${nesting}`
      t.equal(breaks(loose, tight), 'requests', `narrower: ${title}`)
      t.equal(breaks(tight, loose), 'responses', `wider: ${title}`)
    }
  }
})

t.test('a changed condition or exclusion is breaking in both directions', async (t) => {
  for (const keyword of ['not', 'if', 'contains']) {
    const schema = (inner: string) => api(`{ ${keyword}: ${inner}, then: { maxLength: 1 } }`)
    const lines = linesOf(schema('{ type: string }'), schema('{ type: [string, "null"] }'))
    t.strictSame(
      lines.map((line) => line.replace(/: .*/, '')),
      ['breaking  POST /things  200 body', 'breaking  POST /things  body'],
      keyword,
    )
  }
})

const responding = (schema: object) => ({ content: { 'application/json': { schema } } })
const takes = (schema: object) => ({
  post: { requestBody: responding(schema), responses: { 204: { description: 'A' } } },
})
const gives = (schema: object) => ({
  get: { responses: { 200: { description: 'A', ...responding(schema) } } },
})
const text = { type: 'string' }
const set = { type: 'string', readOnly: true }
const sent = { type: 'string', writeOnly: true }

// Properties that are no part of requests, or of responses (OpenAPI 3.1.1, section 4.8.24.3.1).
const required: [
  title: string,
  item: (schema: object) => object,
  before: object,
  after: object,
  isBreaking: boolean,
][] = [
  ['readOnly', takes, { properties: { a: set } }, { properties: { a: set }, required: ['a'] }, false],
  [
    'readOnly beside another one',
    takes,
    { properties: { a: set, b: text } },
    { properties: { a: set, b: text }, required: ['a', 'b'] },
    true,
  ],
  [
    'readOnly in an allOf',
    takes,
    { properties: { a: { allOf: [text, { readOnly: true }] } } },
    { properties: { a: { allOf: [text, { readOnly: true }] } }, required: ['a'] },
    false,
  ],
  [
    'readOnly in another part of the schema',
    takes,
    { allOf: [{ properties: { a: set } }, {}] },
    { allOf: [{ properties: { a: set } }, { required: ['a'] }] },
    false,
  ],
  [
    'readOnly around an alternative',
    takes,
    { properties: { a: set }, anyOf: [{ type: 'object' }] },
    { properties: { a: set }, anyOf: [{ type: 'object', required: ['a'] }] },
    false,
  ],
  [
    'readOnly in an item',
    takes,
    { properties: { l: { type: 'array', items: { properties: { a: set } } } } },
    { properties: { l: { type: 'array', items: { properties: { a: set }, required: ['a'] } } } },
    false,
  ],
  [
    'readOnly with another one',
    takes,
    { properties: { a: set, b: text } },
    { properties: { a: set, b: text }, dependentRequired: { b: ['a'] } },
    false,
  ],
  [
    'another one with what is readOnly',
    takes,
    { properties: { a: set, b: text } },
    { properties: { a: set, b: text }, dependentRequired: { a: ['b'] } },
    false,
  ],
  ['writeOnly', takes, { properties: { a: sent } }, { properties: { a: sent }, required: ['a'] }, true],
  [
    'readOnly no longer',
    takes,
    { properties: { a: set }, required: ['a'] },
    { properties: { a: text }, required: ['a'] },
    true,
  ],
  [
    'writeOnly and no longer required',
    gives,
    { properties: { a: sent }, required: ['a'] },
    { properties: { a: sent } },
    false,
  ],
  [
    'readOnly and no longer required',
    gives,
    { properties: { a: set }, required: ['a'] },
    { properties: { a: set } },
    true,
  ],
]
for (const [title, item, before, after, isBreaking] of required)
  t.test(
    `what is ${title} ${isBreaking ? 'breaks' : 'does not break'} ${item === takes ? 'requests' : 'responses'}`,
    async (t) => {
      const document = (schema: object) => ({
        openapi: '3.1.0',
        paths: { '/a': item({ type: 'object', ...schema }) },
      })
      const changes = diffContracts(document(before), document(after))
      t.equal(
        changes.some(({ bump }) => bump === 'major'),
        isBreaking,
        changes.map(lineOf).join('\n'),
      )
    },
  )

t.test('a change of what all errors share is one change', async (t) => {
  const api = (codes: readonly string[]) => {
    const error = { description: 'E', ...responding({ $ref: '#/components/schemas/Error' }) }
    const responses = { 200: { description: 'A' }, 404: error, default: error }
    const code = { type: 'string', enum: codes }
    return {
      openapi: '3.1.0',
      paths: { '/a': { get: { responses }, put: { responses } }, '/b': { get: { responses } } },
      components: { schemas: { Error: { type: 'object', properties: { code } } } },
    }
  }
  t.strictSame(diffContracts(api(['a']), api(['a', 'b'])).map(lineOf), [
    'breaking  errors  body.code: enum value "b" added, in the errors of 3 operations',
  ])
  const alone = (codes: readonly string[]) => ({ ...api(codes), paths: { '/b': api(codes).paths['/b'] } })
  t.strictSame(diffContracts(alone(['a']), alone(['a', 'b'])).map(lineOf), [
    'breaking  GET /b  404 default body.code: enum value "b" added',
  ])
})
