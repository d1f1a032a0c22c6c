// npm run adopt: replaces openapi.yaml by another document, removes what is the animals'. An error changes
// nothing.

import { parseArgs } from 'node:util'
import { oneLine } from 'contract-engine/lib/one-line'
import { print } from 'contract-engine/lib/terminal'
import { runProcess, UsageError } from 'contract-service/internal/commands/command'
import { OperatorError } from 'contract-service/internal/lib/operator-error'
import { projectRoot } from 'contract-service/internal/lib/paths'
import type { Choice } from 'contract-service/tools/lib/choose-checks'
import { schemesFile } from 'contract-service/tools/lib/schemes'
import { adopt, changesOf } from './adopt.js'
import { namePattern } from './names.js'

const usage = `Usage: npm run adopt -- [--force] [--name NAME] [--root FOLDER] DOCUMENT

Replaces openapi.yaml by DOCUMENT, of OpenAPI 3.0, 3.1 or 3.2, and the files it refers to; removes the animals'
handlers, SQL, commands, load scripts and tests; and runs generate. Each operation then responds with 501
until its handler is implemented. If npm run generate would reject DOCUMENT, nothing is changed.

  --name   rename the project: its packages, metrics, keys, images, units, alerts; small letters, such as toy-shop
  --root   the folder that DOCUMENT and the files it refers to are in; by default that of DOCUMENT
  --force  run even with uncommitted changes in git, which may be lost
  --help   this

Examples:
  npm run adopt -- --name shop ../shop/openapi.yaml
  npm run adopt -- --root ../shop ../shop/v1/openapi.yaml

Exit codes: 0 done, 1 nothing was changed, 2 wrong usage.
`

async function main(args: readonly string[]): Promise<number> {
  const options = { force: { type: 'boolean' }, name: { type: 'string' }, root: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const [document, ...others] = positionals
  if (document === undefined || others.length > 0) throw new UsageError('Name one document')
  const { name, root: folder } = values
  if (name !== undefined && !namePattern.test(name))
    throw new UsageError('--name must be small letters and digits, with hyphens between: toy-shop')
  if (!values.force && (await changesOf(projectRoot)) !== '')
    throw new OperatorError('There are uncommitted changes. Commit them, or use --force.')
  const { warnings, operations, removed, choice } = await adopt(projectRoot, document, { name, folder })
  for (const line of warnings) process.stderr.write(`${line}\n`)
  await print(`${document} is the contract now: ${operations} operations, each with a stub in src/handlers/
${removed} files about animals removed${name === undefined ? '' : `; the project is called ${name}`}
${described(choice)}Next steps: npm ci, and docs/adopting.md
`)
  return 0
}

// What checks the security schemes, and what is left to do for the others.
function described({ checks, left }: Choice): string {
  const added = [...checks].map(([scheme, check]) => `  ${scheme}: ${check}()${needs[check]}\n`)
  const missing = [...left].map(([scheme, advice]) => `  ${scheme}, ${oneLine(advice)}\n`)
  const list =
    added.length > 0 ? `Security schemes and their checks, in ${schemesFile}:\n${added.join('')}` : ''
  const rest =
    missing.length > 0 ? `Left to you there, before operations get handlers (docs/security.md):\n` : ''
  return list + rest + missing.join('')
}

const needs = { apiKeys: '', jwt: ', which needs OIDC_ISSUER and OIDC_AUDIENCE' }

runProcess(usage, main)
