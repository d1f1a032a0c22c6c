// openapi.yaml -> generated/: the types of its schemas, the request and response types of each operation, the
// map of handlers, the client, and the contract in one file. Adds a stub in src/handlers/ for each operation
// without a handler. `--check` writes nothing and fails if anything differs; `--resource` proposes a
// resource.

import { parseArgs } from 'node:util'
import { unjudged } from 'contract-engine/generate'
import { paintFor, print } from 'contract-engine/lib/terminal'
import { sunsets } from 'contract-engine/tools'
import { runProcess, UsageError } from '../../src/commands/command.js'
import { projectRoot } from '../../src/lib/paths.js'
import { findDifferences, writeDifferences } from './differences.js'
import { handlersFolder } from './handlers.js'
import { type Outcome, toJson, toText } from './report.js'
import { proposeResource } from './resource/files.js'

const usage = `Usage: npm run generate [-- [--check | --resource <schema>] [--json]]

Writes generated/ from openapi.yaml, and a stub in ${handlersFolder}/ for each operation without a handler. A
handler that exists is never touched.

  --check  write nothing; exit 1 and name each file that is stale, missing or orphaned, each operation past
           its sunset, and each pattern of which is unknown how long it may take
  --resource <schema>
           also write what a team would write first for what is of that schema, in files that are its own
           from then on: migration, table, handlers of the operations that add, get, list, change and delete
           it, and a test. Nothing is written if one of the files is there already
  --json   what was done or found, for scripts: {"files":[{"file":"…","state":"stale"}],"sunsets":[]}
  --help   this

Examples:
  npm run generate
  npm run --silent generate -- --check
  npm run generate -- --resource Shop
  npm run --silent generate -- --check --json | jq -r '.files[].file'

Exit codes: 0 done, or nothing to do, 1 the contract cannot be used, or --check found something,
2 wrong usage.
`

async function main(args: readonly string[]): Promise<number> {
  const options = {
    check: { type: 'boolean' },
    json: { type: 'boolean' },
    resource: { type: 'string' },
  } as const
  const { check = false, json = false, resource } = parseArgs({ args: [...args], options }).values
  if (check && resource !== undefined) throw new UsageError('--check writes nothing, and --resource does.')
  const { contract, differences, areJudged, warnings } = await findDifferences(projectRoot)
  const { past, soon } = check ? sunsets(contract, Date.now()) : { past: [], soon: [] }
  const generated = check
    ? differences.map(({ file, state }) => ({ file, state }))
    : await writeDifferences(projectRoot, differences)
  const proposed = resource === undefined ? undefined : await proposeResource(projectRoot, contract, resource)
  const files = withProposed(generated, proposed?.files ?? [])
  const notes = [...soon, ...(proposed?.others ?? []).map((line) => `left to you: ${line}`)]
  for (const line of [...warnings, ...notes.map((line) => `warning: ${line}`)])
    process.stderr.write(`${line}\n`)
  const outcome = { files, sunsets: past }
  await print(json ? toJson(outcome) : toText(outcome, check, paintFor(process.stdout)))
  if (!check) return 0
  if (files.length > 0) process.stderr.write('Run npm run generate.\n')
  if (!areJudged) process.stderr.write(`${unjudged}\n`)
  return files.length + past.length > 0 || !areJudged ? 1 : 0
}

// Proposed handlers replace the stubs that were added a moment ago.
function withProposed(files: Outcome['files'], proposed: readonly string[]): Outcome['files'] {
  const own = proposed.map((file) => ({ file, state: 'proposed' as const }))
  return [...files.filter(({ file }) => !proposed.includes(file)), ...own]
}

runProcess(usage, main)
