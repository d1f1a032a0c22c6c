// `npm run build:client` and `npm run build:engine`: build a package in dist/, for `npm pack`.

import path from 'node:path'
import { parseArgs } from 'node:util'
import { runProcess, UsageError } from '../../src/commands/command.js'
import { projectRoot } from '../../src/lib/paths.js'
import { buildClient } from './client.js'
import { buildEngine } from './engine.js'

const usage = `Usage: npm run build:client
       npm run build:engine

Compiles src/client into dist/client, a package for import and require, without code of the server; or
src/openapi into dist/engine, a package without the rest of the service.

Exit codes: 0 success, 1 compile errors, 2 wrong usage.
`

const builds: Readonly<Record<string, typeof buildClient>> = { client: buildClient, engine: buildEngine }

async function main(args: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true })
  const problems = positionals.flatMap((name) => {
    const build = builds[name]
    if (build === undefined) throw new UsageError(`There is no package ${name}.`)
    return build(projectRoot, path.join(projectRoot, 'dist', name))
  })
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  return problems.length > 0 ? 1 : 0
}

runProcess(usage, main)
