// The features of OpenAPI -> docs/openapi-features.md: each is tried, and works or is refused with a line. `--check` writes nothing
// and fails where the page is not what came of it.

import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { runCommand } from '../../src/commands/command.js'
import { projectRoot } from '../../src/paths.js'
import { readFeatures, runFeature } from './features.js'
import { toPage } from './page.js'

const usage = `Usage: npm run features [-- --check]

Tries each feature of scripts/features/features.yaml and writes what came of it to docs/openapi-features.md.

  --check  write nothing; exit 1 where the page is stale
  --help   this

Exit codes: 0 done, 1 --check found the page stale, 2 wrong usage.
`
const page = 'docs/openapi-features.md'

async function main(args: readonly string[]): Promise<number> {
  const { check = false } = parseArgs({ args: [...args], options: { check: { type: 'boolean' } } }).values
  const features = await readFeatures()
  const results = []
  for (const feature of features) results.push(await runFeature(feature)) // the lint takes one at a time
  const text = toPage(features, results)
  const file = path.join(projectRoot, page)
  const isStale = (await readFile(file, 'utf8').catch(() => '')) !== text
  if (check && isStale) process.stderr.write(`${page} is stale. Run npm run features.\n`)
  if (check) return isStale ? 1 : 0
  await writeFile(file, text)
  process.stdout.write(`${page} ${isStale ? 'written' : 'is up to date'}\n`)
  return 0
}

runCommand(usage, main)
