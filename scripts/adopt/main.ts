// Makes the project that of another contract: their document in the place of openapi.yaml, and what is about animals
// alone gone. Either all of it is done, or nothing.

import { parseArgs } from 'node:util'
import { runCommand, UsageError } from '../../src/commands/command.js'
import { print } from '../../src/commands/terminal.js'
import { OperatorError } from '../../src/operator-error.js'
import { projectRoot } from '../../src/paths.js'
import { adopt, changesOf } from './adopt.js'

const usage = `Usage: npm run adopt -- [--force] DOCUMENT

Puts DOCUMENT, of OpenAPI 3.0 or 3.1, and the files beside it that it refers to, in the place of openapi.yaml; removes
the animals' handlers, statements, commands, load scripts and tests; and generates. Each operation then answers 501
until its handler is written. A document that npm run generate would refuse changes nothing.

  --force  also where git has changes that are not committed, which may be lost
  --help   this

Example:
  npm run adopt -- ../shop/openapi.yaml

Exit codes: 0 done, 1 nothing was changed, 2 wrong usage.
`

async function main(args: readonly string[]): Promise<number> {
  const options = { force: { type: 'boolean' } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const [document, ...others] = positionals
  if (document === undefined || others.length > 0) throw new UsageError('Name one document')
  if (!values.force && (await changesOf(projectRoot)) !== '')
    throw new OperatorError('There are changes that are not committed. Commit them, or say --force.')
  const { warnings, operations, removed } = await adopt(projectRoot, document)
  for (const line of warnings) process.stderr.write(`${line}\n`)
  await print(`${document} is the contract now: ${operations} operations, each a stub in src/handlers/
${removed} files about animals are gone
What is left to you: docs/adopting.md
`)
  return 0
}

runCommand(usage, main)
