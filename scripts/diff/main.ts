// Reports the changes of the contract between a git ref and the working tree by their effect on clients, and
// checks that its version was raised accordingly.

import { paintFor, print } from '../../src/commands/terminal.js'
import { contractFile } from '../../src/lib/paths.js'
import { toGithub } from './annotations.js'
import { readArguments } from './arguments.js'
import { DiffError } from './diff-error.js'
import { toJson, toText } from './report.js'
import { diffSince } from './since.js'

const usage = `Usage: npm run contract:diff -- [--format FORMAT | --json] <git ref>

Compares openapi.yaml at the git ref with the working tree: prints a line for each change, and the version
that the changes require.

  breaking  may break an existing client; requires a new major version
  minor     backward-compatible: an addition or a relaxed limit
  patch     documentation only: descriptions, examples

  --format text     a line for each change (the default)
  --format github   an annotation for each change, at its line in a pull request
  --json            JSON for scripts
  --help            print this help

Examples:
  npm run contract:diff -- HEAD             uncommitted changes
  npm run contract:diff -- origin/main      changes of this branch
  npm run --silent contract:diff -- --json v1.0.0 | jq .bump

Exit codes: 0 the version is enough, 1 it is not: the changes require a higher info.version, or for breaking
ones a higher version in every path, such as /v2, 2 wrong usage or an error.
`

async function main(): Promise<number> {
  const asked = readArguments(process.argv.slice(2))
  if (asked === 'help') {
    await print(usage)
    return 0
  }
  const { ref, format } = asked
  const { changes, version, source } = await diffSince(ref, contractFile)
  if (format === 'github') await print(toGithub(source, changes, version))
  else if (format === 'json') await print(toJson(ref, changes, version))
  else await print(toText(ref, changes, version, paintFor(process.stdout)))
  return version.isEnough ? 0 : 1
}

// Exit code 1 means that the version is not enough, so that every error exits with 2.
main().then(
  (code) => {
    process.exitCode = code
  },
  (error) => {
    process.stderr.write(`${error instanceof DiffError ? `contract:diff: ${error.message}` : error.stack}\n`)
    process.exitCode = 2
  },
)
