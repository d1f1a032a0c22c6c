// What the pages say: their links have targets, and their tables are those of the sources.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { documentation } from 'contract-engine'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { planSections } from 'contract-service/internal/rate-limit/page-section'
import Fastify from 'fastify'
import t from 'tap'
import { allPages, anchorsOf, linksOf, pages, readPage } from './fixtures/pages.js'
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

t.test('every patch of a page applies to the sources', async (t) => {
  const folder = 'docs/examples'
  for (const patch of readdirSync(path.join(projectRoot, folder)).filter((file) => file.endsWith('.patch'))) {
    const args = ['apply', '--check', path.join(folder, patch)]
    const { stderr } = spawnSync('git', args, { cwd: projectRoot, encoding: 'utf8' })
    t.equal(stderr, '', patch)
  }
})

t.test('README.md has at most 200 lines and links every page', async (t) => {
  const text = readPage('README.md')
  t.ok(text.trimEnd().split('\n').length <= 200)
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

// The rows of a table of environment variables, by name.
function variablesOf(markdown: string): ReadonlyMap<string, string> {
  return new Map(
    [...markdown.matchAll(/^\| `([A-Z_]+)` \|[^|]+\|[^|]+\|$/gm)].map(([row, name = '']) => [name, row]),
  )
}

function escaped(text: string): string {
  return text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')
}
