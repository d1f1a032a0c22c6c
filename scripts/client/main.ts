// `npm run build:client`: builds the client's package in dist/client, for `npm pack ./dist/client`.

import path from 'node:path'
import { parseArgs } from 'node:util'
import { runCommand } from '../../src/commands/command.js'
import { projectRoot } from '../../src/lib/paths.js'
import { buildPackage } from './package.js'

const usage = `Usage: npm run build:client

Compiles src/client into dist/client, a package for import and require, without code of the server.

Exit codes: 0 success, 1 compile errors, 2 wrong usage.
`

async function main(args: readonly string[]): Promise<number> {
  parseArgs({ args: [...args], options: {} })
  const problems = buildPackage(projectRoot, path.join(projectRoot, 'dist/client'))
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  return problems.length > 0 ? 1 : 0
}

runCommand(usage, main)
