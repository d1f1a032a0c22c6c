// `npx contract-diff`: reports the changes between two contracts by their effect on clients, and checks that
// the version was raised as they require.

import { paintFor, print, type Stream } from 'contract-engine/lib/terminal'
import { toGithub } from './annotations.js'
import { readArguments } from './arguments.js'
import { DiffError } from './diff-error.js'
import { toJson, toText } from './report.js'
import { diffFiles, diffSince } from './since.js'

const usage = `Usage: contract-diff [--format FORMAT | --json] OLD NEW
       contract-diff [--format FORMAT | --json] --git CONTRACT REF

Compares two contracts, or a contract with itself at a git ref: prints a line for each change, and the version
that the changes require.

  breaking  may break an existing client; requires a new major version
  minor     backward-compatible: an addition or a relaxed limit
  patch     documentation only: descriptions, examples

  --format text     a line for each change (the default)
  --format github   an annotation for each change, at its line in a pull request
  --json            JSON for scripts
  --git             compare CONTRACT with itself at REF
  --extension NAME  an extension of the document in which a $ref is followed
  --root FOLDER     the folder that the files of both contracts are in; by default that of each
  --help            print this help

Examples:
  contract-diff old.yaml new.yaml
  contract-diff --git openapi.yaml HEAD             uncommitted changes
  contract-diff --git openapi.yaml origin/main      changes of this branch
  contract-diff --json --git openapi.yaml v1.0.0 | jq .bump

Exit codes: 0 the version is enough, 1 it is not: the changes require a higher info.version, or for breaking
ones a higher version in every path, such as /v2, 2 wrong usage or an error.
`

/** Where the command writes. */
export interface Streams {
  readonly stdout: Stream
  readonly stderr: { write(text: string): unknown }
}

/**
 * Runs the command, and resolves to its exit code. 1 means that the version is not enough, so the code of
 * every error is 2.
 */
export async function runCommand(args: readonly string[], { stdout, stderr }: Streams): Promise<number> {
  try {
    return await diff(args, stdout)
  } catch (error) {
    stderr.write(`${error instanceof DiffError ? `diff: ${error.message}` : (error as Error).stack}\n`)
    return 2
  }
}

async function diff(args: readonly string[], stdout: Stream): Promise<number> {
  const asked = readArguments(args)
  if (asked === 'help') {
    await print(usage, stdout)
    return 0
  }
  const { before, file, format, ...options } = asked
  const compare = asked.isRef ? diffSince : diffFiles
  const { changes, version, source } = await compare(before, file, options)
  if (format === 'github') await print(toGithub(source, changes, version), stdout)
  else if (format === 'json') await print(toJson(before, changes, version), stdout)
  else await print(toText(before, changes, version, paintFor(stdout)), stdout)
  return version.isEnough ? 0 : 1
}
