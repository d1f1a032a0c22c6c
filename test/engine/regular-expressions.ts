// The project's own regular expressions that read strangers' bytes take time linear in the text, as recheck
// judges.

import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import ajvFormats from 'ajv-formats'
import { formats } from 'contract-engine/tools'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { isNightly, sampled } from 'contract-testing/nightly'
import t from 'tap'

// Required, because an import of the compiler takes a second.
const require = createRequire(import.meta.url)
const ts: typeof import('typescript') = require('typescript')
const { checkSync }: typeof import('recheck') = require('recheck/lib/browser.js')

const ofService = ['auth', 'http', 'lib', 'middleware', 'rate-limit', 'telemetry']
const ofEngine = ['compile/documents', 'compile/schemas', 'lib', 'serve']
const folders = [
  'src/handlers',
  ...ofService.map((name) => `packages/service/src/${name}`),
  ...ofEngine.map((name) => `packages/engine/src/${name}`),
]

// Expressions that backtrack, but never see a stranger's text, or never a long one.
const known: Readonly<Record<string, string>> = {
  '/^(postgres(?:ql)?:\\/\\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/i': 'DATABASE_URL',
  '/^(rediss?)(?:\\+(cluster|sentinel))?:\\/\\/([^/?#]*@)?([^/?#@]+)([^#]*)$/i': 'REDIS_URL',
  '/\\/+$/': 'PUBLIC_URL, and the address that a client is given',
}

function literalsOf(file: string): string[] {
  const found: string[] = []
  const visit = (node: import('typescript').Node): undefined => {
    if (ts.isRegularExpressionLiteral(node)) found.push(node.text)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest))
  return found
}

function statusOf(source: string, flags: string): string {
  const { status } = checkSync(source, flags.replaceAll(/[dgy]/g, ''), {
    timeout: 60_000,
    attackLimit: 10_000_000,
    ...{ attackTimeout: null, incubationTimeout: null, seedingTimeout: null },
    // The settings with which generate judges patterns.
    ...{ maxIteration: 4, maxInitialGenerationSize: 150, maxGenerationSize: 40 },
    ...{ mutationSize: 20, crossoverSize: 10 },
  })
  return status
}

const files = folders.flatMap((folder) =>
  readdirSync(path.join(projectRoot, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => path.join(projectRoot, folder, file)),
)

t.test('no literal of the sources backtracks', async (t) => {
  const literals = new Set(files.flatMap(literalsOf))
  for (const text of sampled([...literals])) {
    const [, body = '', flags = ''] = /^\/(.*)\/([a-z]*)$/s.exec(text) ?? []
    t.equal(statusOf(body, flags), text in known ? 'vulnerable' : 'safe', text)
  }
  const gone = Object.keys(known).filter((text) => !literals.has(text))
  t.strictSame(gone, [], 'each exception is there')
})

// The formats of ajv-formats that the engine uses. recheck takes 30 s for those of URIs: formats.ts tests
// them with texts instead.
const borrowed = ['hostname', 'ipv4', 'ipv6'] as const

t.test('no format backtracks', async (t) => {
  const own = Object.entries(formats).map(([name, { validate }]) => [name, validate] as const)
  const others = borrowed.map((name) => [name, ajvFormats.default.get(name)] as const)
  for (const [name, each] of [...own, ...others])
    if (each instanceof RegExp) t.equal(statusOf(each.source, each.flags), 'safe', name)
})

// V8 keeps a state for each repetition of a group, so matching a text of some megabytes may overflow the
// stack.
const fillers = ['a', '1', '%41', '\\u0041', '.', ' ', '/', 'a.', '-', '=', ',a', '\n']
const starts = ['', '"', 'a:']
const engine = path.join(projectRoot, 'packages/engine/src')
const ofData = [
  ...['serve/request/', 'serve/response/', 'kinds/', 'runtime/', 'compile/schemas/'],
  'lib/exact-number.ts',
].map((place) => path.join(engine, place))

// Their texts are no longer than a header.
const ofHeaders = [path.join(engine, 'serve/response/absolute-links.ts')]

t.test('no literal that reads a body overflows the stack on megabytes', async (t) => {
  const here = files.filter(
    (file) => ofData.some((place) => file.startsWith(place)) && !ofHeaders.includes(file),
  )
  const literals = [...new Set(here.flatMap(literalsOf))]
  for (const [size, given] of [
    [1e6, fillers],
    [1e7, fillers.slice(0, 4)],
    ...(isNightly ? [[5e7, fillers.slice(0, 1)] as const] : []),
  ] as const) {
    const texts = given.flatMap((filler) =>
      starts.map((start) => start + filler.repeat(size / filler.length)),
    )
    for (const text of texts) {
      text.charCodeAt(size - 1) // flattens the string into one piece
      for (const literal of literals) {
        const [, body = '', flags = ''] = /^\/(.*)\/([a-z]*)$/s.exec(literal) ?? []
        const expression = new RegExp(body, flags)
        if (!runs(() => expression.test(text))) t.fail(`${literal} on ${text.slice(0, 12)}, ${size}`)
      }
    }
  }
})

function runs(run: () => unknown): boolean {
  try {
    run()
    return true
  } catch {
    return false
  }
}
