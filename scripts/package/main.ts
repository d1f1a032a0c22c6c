// `npm run build:client`: builds the package of the client in dist/, for `npm pack`.

import path from 'node:path'
import { runProcess } from 'contract-service/internal/commands/command'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { buildClient } from './client.js'

const usage = `Usage: npm run build:client

Compiles src/client into dist/client, a package for import and require, without code of the server.

Exit codes: 0 success, 1 compile errors, 2 wrong usage.
`

async function main(): Promise<number> {
  const problems = buildClient(projectRoot, path.join(projectRoot, 'dist/client'))
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  return problems.length > 0 ? 1 : 0
}

runProcess(usage, main)
