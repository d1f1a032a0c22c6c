// What changed between the contract at a git ref and the one in the working tree, for those who call the API,
// and whether its version says so.

import { parseArgs } from 'node:util'
import { paintFor, print } from '../../src/commands/terminal.js'
import { contractFile } from '../../src/paths.js'
import { toGithub } from './annotations.js'
import { DiffError } from './diff-error.js'
import { toJson, toText } from './report.js'
import { diffSince } from './since.js'

const usage = `Usage: npm run contract:diff -- [--format FORMAT | --json] <git ref>

What changed between openapi.yaml at the git ref and openapi.yaml as it is now: a line for each change, and the
version it calls for.

  breaking  a caller that works today may not work tomorrow: a new major version
  minor     something new, or milder, that callers may use
  patch     words, examples: nothing that callers send or get

  --format text     a line for each change, for people: the default
  --format github   an annotation for each change, at its line of a pull request
  --json            the same for scripts
  --help            this

Examples:
  npm run contract:diff -- HEAD             what is not committed yet
  npm run contract:diff -- origin/main      what this branch changes
  npm run --silent contract:diff -- --json v1.0.0 | jq .bump

Exit codes: 0 the version may stand, 1 a breaking change without a new major version (of info.version, or in the
path of the servers), 2 wrong usage.
`

async function main(): Promise<number> {
  const { values, positionals } = parse()
  const [ref = '', ...rest] = positionals
  if (values.help) {
    await print(usage)
    return 0
  }
  if (ref === '' || rest.length > 0) throw new DiffError('name one git ref, such as HEAD; --help tells more')
  const format = values.json ? 'json' : (values.format ?? 'text')
  if (values.json && values.format !== undefined)
    throw new DiffError('--json and --format do not go together')
  if (!values.json && !['text', 'github'].includes(format)) {
    throw new DiffError(`there is no format ${format}: it is text or github`)
  }
  const { changes, judgement, written } = await diffSince(ref, contractFile)
  if (format === 'github') await print(toGithub(written, changes, judgement))
  else if (format === 'json') await print(toJson(ref, changes, judgement))
  else await print(toText(ref, changes, judgement, paintFor(process.stdout)))
  return judgement.bump === 'major' && !judgement.isEnough ? 1 : 0
}

function parse() {
  try {
    return parseArgs({
      options: {
        format: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
      allowPositionals: true,
    })
  } catch (error) {
    throw new DiffError(`${(error as Error).message}; --help tells more`)
  }
}

// Whatever is wrong exits 2: 1 is a break.
main().then(
  (code) => {
    process.exitCode = code
  },
  (error) => {
    process.stderr.write(`${error instanceof DiffError ? `contract:diff: ${error.message}` : error.stack}\n`)
    process.exitCode = 2
  },
)
