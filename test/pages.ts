// What the pages say: their links have targets, and their tables are those of the sources.

import { spawnSync } from 'node:child_process'
import { type Dirent, existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { documentation } from 'contract-engine'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { planSections } from 'contract-service/internal/rate-limit/page-section'
import Fastify from 'fastify'
import t from 'tap'
import {
  allPages,
  anchorsOf,
  blocksOf,
  isSource,
  linksOf,
  pages,
  pathsOf,
  readPage,
} from './fixtures/pages.js'
import { contract } from './fixtures/service.js'

t.test('every link has a target', async (t) => {
  for (const page of allPages) {
    for (const link of linksOf(readPage(page))) {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? page : path.join(path.dirname(page), file)
      t.ok(existsSync(path.join(projectRoot, target)), `${page}: ${link}`)
      if (anchor === undefined) continue
      t.ok(anchorsOf(readPage(target)).includes(anchor), `${page}: ${link} is a heading`)
    }
  }
})

// What paths are relative to in pages, beside the folder of the page.
const roots = ['', 'packages/service/src', 'packages/engine/src', 'src', 'test', 'scripts', 'docs', 'deploy']
const folders = new Set(roots.flatMap((root) => foldersIn(root).map(({ name }) => name)))
const names = new Set(namesBelow('.'))

// Paths of pages that are no file of this repository, and why.
const absent = [
  [/^(test|src\/handlers)\/.*shops?(\/|\.ts$|$)/i, 'docs/contract-editing.md adds shops'],
  [/^src\/migrations\/.*-(shops|pet-weight)\.sql$/, 'docs/contract-editing.md adds migrations'],
  [/\/(deletePet|watchPets)\.ts$/, 'docs/security.md and docs/streams.md add operations'],
  [/\.ts\.bak$/, 'sed leaves it in a walkthrough'],
  [/^(src\/migrations\/0100-books\.sql|test\/getBook\.ts|src\/admin.*)$/, 'docs/adopting.md makes a project'],
  [/^src\/(database\/migrations|(auth\/schemes|auth|config)\.ts)$/, 'copies that were adopted have it'],
  [/^(club|both|shop|findPetById)\.ts$/, 'the reader writes it'],
  [/^(src\/library|generated\/contract\.plan|\.github\/workflows\/contract\.yml)$/, 'of another project'],
  [/^client\/(src|lib)\//, 'a generator of clients makes it'],
] as const

t.test('every path in a page exists', async (t) => {
  const used = new Set<RegExp>()
  for (const page of allPages) {
    for (const missing of missingIn(page, readPage(page))) {
      const [pattern] = absent.find(([each]) => each.test(missing)) ?? []
      if (pattern === undefined) t.fail(`${page}: ${missing} does not exist`)
      else used.add(pattern)
    }
  }
  for (const [pattern, why] of absent) t.ok(used.has(pattern), `a page has ${pattern}: ${why}`)
})

t.test('a mistyped path is found in code, relative to any root', async (t) => {
  const code = '`http/haeders.ts` `htpp/headers.ts` `haeders.ts` `src/handler/`'
  const known =
    '`http/headers.ts` `headers.ts` `src/handlers/<operationId>.ts` `test/x.ts` `text/csv` `/docs/a`'
  t.strictSame(missingIn('docs/a.md', code), code.replaceAll('`', '').split(' '))
  t.strictSame(missingIn('docs/a.md', '```sh\ncat scripts/bnech/main.ts\n```\n'), ['scripts/bnech/main.ts'])
  t.strictSame(missingIn('docs/a.md', '`src/handler/<operationId>.ts`'), ['src/handler/<operationId>.ts'])
  t.strictSame(missingIn('docs/a.md', known), [])
  t.strictSame(missingIn('packages/engine/a.md', '`values.md` `test/cases.yaml`'), [])
})

t.test('a block that is not run where it stands is run by the test that it names', async (t) => {
  for (const page of pages) {
    for (const { line, text, notRun, runBy } of blocksOf(readPage(page))) {
      if (runBy === undefined) {
        t.notMatch(notRun ?? '', /\.ts\b/, `${page}:${line} names a test as it is read`)
        continue
      }
      const source = readFileSync(path.join(projectRoot, runBy), 'utf8')
      const taken = [...source.matchAll(/blockOf\('(\S+)', '(.+?)'\)/g)]
      const isTaken = taken.some(([, from, start = '']) => from === page && text.startsWith(start))
      t.ok(isTaken, `${page}:${line} is taken by ${runBy}`)
    }
  }
})

t.test('every patch of a page applies to the sources', async (t) => {
  const folder = 'docs/examples'
  for (const patch of readdirSync(path.join(projectRoot, folder)).filter((file) => file.endsWith('.patch'))) {
    const args = ['apply', '--check', path.join(folder, patch)]
    const { stderr } = spawnSync('git', args, { cwd: projectRoot, encoding: 'utf8' })
    t.equal(stderr, '', patch)
  }
})

t.test('README.md has at most 100 lines and links every page', async (t) => {
  const text = readPage('README.md')
  t.ok(text.trimEnd().split('\n').length <= 100)
  const links = linksOf(text).map((link) => link.replace(/#.*/, ''))
  t.strictSame(
    pages.filter((page) => page !== 'README.md' && !links.includes(page)),
    [],
  )
})

t.test('docs/reference.md lists every environment variable, and README.md some of its rows', async (t) => {
  const source = readFileSync(path.join(projectRoot, 'packages/service/src/config.ts'), 'utf8')
  const rows = variablesOf(readPage('docs/reference.md'))
  const read = source.matchAll(/\b(?:read(?:<.*?>)?|optional)\(\s*'([A-Z_]+)'/g)
  t.strictSame([...rows.keys()].sort(), [...read].map(([, name]) => name).sort())
  for (const [name, row] of variablesOf(readPage('README.md')))
    t.equal(row.replaceAll('docs/reference.md#', '#').replaceAll('(docs/', '('), rows.get(name))
})

t.test('docs/using-the-api.md has the tables of /docs, which are those of the contract', async (t) => {
  const app = Fastify()
  documentation(app, contract, { sections: () => planSections(contract) })
  const { description } = (await app.inject('/docs/contract.json')).json().info
  const page = readPage('docs/using-the-api.md')
  for (const heading of ['Plans and quotas', 'Limits', 'Deprecated operations']) {
    const [, section = heading] = description.split(`\n\n## ${heading}\n\n`)
    t.match(page, section.split('\n\n')[0], heading)
  }
})

t.test('the contract tells callers what its version changes', async (t) => {
  const { info } = contract.document as { readonly info: { readonly description: string } }
  const [, changes = ''] = info.description.split('## Changes\n')
  t.match(changes, new RegExp(`^- \\*\\*${escaped(contract.version)}\\*\\*: `))
})

// The paths of a page that lead nowhere. Of one with a placeholder, what is before that is looked for.
function missingIn(page: string, markdown: string): string[] {
  return pathsOf(markdown).filter((word) => {
    const segments = word.split('/')
    const [first = ''] = segments
    if (!folders.has(first) && !isSource(word)) return false
    if (segments.length === 1) return !names.has(word) && !isPlaceholder(word)
    const placeholder = segments.findIndex(isPlaceholder)
    const known = path.join(...segments.slice(0, placeholder === -1 ? undefined : placeholder))
    return ![path.dirname(page), ...roots].some((root) => existsSync(path.join(projectRoot, root, known)))
  })
}

function isPlaceholder(segment: string): boolean {
  return /[*<{]|^NNNN-|^x\.ts$/.test(segment)
}

function foldersIn(folder: string): Dirent[] {
  const entries = readdirSync(path.join(projectRoot, folder), { withFileTypes: true })
  return entries.filter(
    (entry) => entry.isDirectory() && !/^(node_modules|dist|\.git|\.data)$/.test(entry.name),
  )
}

function namesBelow(folder: string): string[] {
  const files = readdirSync(path.join(projectRoot, folder)).filter(isSource)
  return [...files, ...foldersIn(folder).flatMap(({ name }) => namesBelow(path.join(folder, name)))]
}

// The rows of a table of environment variables, by name.
function variablesOf(markdown: string): ReadonlyMap<string, string> {
  return new Map(
    [...markdown.matchAll(/^\| `([A-Z_]+)` \|[^|]+\|[^|]+\|$/gm)].map(([row, name = '']) => [name, row]),
  )
}

function escaped(text: string): string {
  return text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')
}
