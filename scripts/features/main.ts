// Tries the features of features.yaml and writes the results to packages/engine/openapi-features.md. With `--check` it
// writes nothing, and exits with 1 if the page is stale.

import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { readFeatures } from 'contract-engine/testing/features'
import { runProcess } from 'contract-service/internal/commands/command'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { toPage } from './page.js'
import { featuresFile, runFeature } from './run-feature.js'

const usage = `Usage: npm run features [-- --check]

Tries each feature of packages/engine/test/features.yaml and writes the results to packages/engine/openapi-features.md.

  --check  write nothing; exit with 1 if the page is stale
  --help   print this help

Exit codes: 0 done, 1 the page is stale (--check), 2 wrong usage.
`
const page = 'packages/engine/openapi-features.md'

async function main(args: readonly string[]): Promise<number> {
  const { check = false } = parseArgs({ args: [...args], options: { check: { type: 'boolean' } } }).values
  const features = await readFeatures(featuresFile)
  const results = []
  for (const feature of features) results.push(await runFeature(feature)) // Redocly's lint runs one at a time
  const text = toPage(features, results)
  const file = path.join(projectRoot, page)
  const isStale = (await readFile(file, 'utf8').catch(() => '')) !== text
  if (check && isStale) process.stderr.write(`${page} is stale. Run npm run features.\n`)
  if (check) return isStale ? 1 : 0
  await writeFile(file, text)
  process.stdout.write(`${page} ${isStale ? 'written' : 'is up to date'}\n`)
  return 0
}

runProcess(usage, main)
