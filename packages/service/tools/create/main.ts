// contract-service create: makes a folder with a service of an OpenAPI document. An error leaves no folder.

import path from 'node:path'
import { parseArgs } from 'node:util'
import { print } from 'contract-engine/lib/terminal'
import { oneLine } from 'contract-engine/lib/texts'
import { runProcess, UsageError } from '../../src/commands/command.js'
import type { Choice } from '../lib/choose-checks.js'
import { createProject } from './create.js'

const usage = `Usage: contract-service create [--name NAME] [--root ROOT] DOCUMENT [FOLDER]

Writes FOLDER, by default called NAME, with a service of DOCUMENT, of OpenAPI 3.0, 3.1 or 3.2: the document
and the files it refers to, generated code, a stub for each operation, which responds with 501 until it is
written, tests, and what runs it with npm, Docker and Kubernetes. If contract-service generate would refuse
DOCUMENT, nothing is written.

  FOLDER  may not have files
  --name  what packages, metrics, keys and databases are called: small letters and digits, such as toy-shop; by
          default made of the title of DOCUMENT
  --root  the folder that DOCUMENT and the files it refers to are in; by default that of DOCUMENT
  --help  this

Examples:
  npx contract-service create ../library/openapi.yaml
  npx contract-service create --name library --root ../api ../api/v1/openapi.yaml ../library-service

Exit codes: 0 done, 1 nothing was written, 2 wrong usage.
`

// Names that npm, metrics, Kubernetes and PostgreSQL accept.
const namePattern = /^(?=.{2,30}$)[a-z][a-z0-9]*(-[a-z0-9]+)*$/

async function main(args: readonly string[]): Promise<number> {
  const options = { name: { type: 'string' }, root: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const [document, folder, ...others] = positionals
  if (document === undefined || others.length > 0) throw new UsageError('Name one document')
  const { name, root } = values
  if (name !== undefined && !namePattern.test(name))
    throw new UsageError('--name must be small letters and digits, with hyphens between: toy-shop')
  const {
    folder: place,
    warnings,
    operations,
    choice,
  } = await createProject(document, { name, root, folder })
  for (const line of warnings) process.stderr.write(`${line}\n`)
  await print(`${shown(place)} is a service of ${document}: ${operations} operations, each with a stub in src/handlers/
${described(choice)}Next steps: cd ${shown(place)} && npm install && npm test
`)
  return 0
}

function shown(folder: string): string {
  return path.relative(process.cwd(), folder) || '.'
}

// Lists the check of each security scheme, and what the team still has to do for the other schemes.
function described({ checks, left }: Choice): string {
  const added = [...checks].map(([scheme, check]) => `  ${scheme}: ${check}()${needs[check]}\n`)
  const missing = [...left].map(([scheme, advice]) => `  ${scheme}, ${oneLine(advice)}\n`)
  const list =
    added.length > 0 ? `Security schemes and their checks, in src/schemes.ts:\n${added.join('')}` : ''
  const rest = missing.length > 0 ? 'Left to you there, before operations get handlers:\n' : ''
  return list + rest + missing.join('')
}

const needs = { apiKeys: '', jwt: ', which needs OIDC_ISSUER and OIDC_AUDIENCE' }

runProcess(usage, main)
