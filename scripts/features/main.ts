// Writes packages/engine/openapi-features.md from features.yaml, whose rows the tests try. With `--check` it
// writes nothing, and exits with 1 if the page is stale.

import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { runProcess } from 'contract-service/internal/commands/command'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { readFeatures } from 'contract-testing/features'
import { toPage } from './page.js'
import { featuresFile } from './run-feature.js'

const usage = `Usage: npm run features [-- --check]

Writes packages/engine/openapi-features.md from the rows of packages/engine/test/features.yaml, which the tests try.

  --check  write nothing; exit with 1 if the page is stale
  --help   print this help

Exit codes: 0 done, 1 the page is stale (--check), 2 wrong usage.
`
const page = 'packages/engine/openapi-features.md'

async function main(args: readonly string[]): Promise<number> {
  const { check = false } = parseArgs({ args: [...args], options: { check: { type: 'boolean' } } }).values
  const text = toPage(await readFeatures(featuresFile))
  const file = path.join(projectRoot, page)
  const isStale = (await readFile(file, 'utf8').catch(() => '')) !== text
  if (check && isStale) process.stderr.write(`${page} is stale. Run npm run features.\n`)
  if (check) return isStale ? 1 : 0
  await writeFile(file, text)
  process.stdout.write(`${page} ${isStale ? 'written' : 'is up to date'}\n`)
  return 0
}

runProcess(usage, main)
