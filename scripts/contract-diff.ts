// What changed between the contract at a git ref and the one in the working tree, for those who call the API,
// and whether its version says so. The rules are in diff/.

import { execFile } from 'node:child_process'
import path from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { paintFor, print } from '../src/commands/terminal.js'
import { ContractError } from '../src/contract/contract-error.js'
import { type ReadText, readSource } from '../src/contract/files.js'
import { contractFile } from '../src/paths.js'
import { DiffError } from './diff/comparison.js'
import { diffContracts } from './diff/contract.js'
import { isNode, type Node } from './diff/node.js'
import { toJson, toText } from './diff/report.js'
import { judgeVersion } from './diff/version.js'

const usage = `Usage: npm run contract:diff -- [--json] <git ref>

What changed between openapi.yaml at the git ref and openapi.yaml as it is now: a line for each change, and the
version it calls for.

  breaking  a caller that works today may not work tomorrow: a new major version
  minor     something new, or milder, that callers may use
  patch     words, examples: nothing that callers send or get

  --json    the same for scripts
  --help    this

Examples:
  npm run contract:diff -- HEAD             what is not committed yet
  npm run contract:diff -- origin/main      what this branch changes
  npm run --silent contract:diff -- --json v1.0.0 | jq .bump

Exit codes: 0 the version may stand, 1 a breaking change without a new major version (of info.version, or in the
path of the servers), 2 wrong usage.
`

async function main(): Promise<number> {
  const { ref, json, help } = readArguments()
  if (help) {
    await print(usage)
    return 0
  }
  const name = path.basename(contractFile)
  const before = await parseContract(` at ${ref}`, await readerAt(ref, name))
  const after = await parseContract()
  const changes = diffContracts(before, after)
  const judgement = judgeVersion(before, after, changes)
  await print(
    json ? toJson(ref, changes, judgement) : toText(ref, changes, judgement, paintFor(process.stdout)),
  )
  return judgement.bump === 'major' && !judgement.isEnough ? 1 : 0
}

function readArguments(): { ref: string; json: boolean; help: boolean } {
  const { values, positionals } = parse()
  const { json = false, help = false } = values
  const [ref = '', ...rest] = positionals
  if (help) return { ref, json, help }
  if (ref === '' || rest.length > 0) throw new DiffError('name one git ref, such as HEAD; --help tells more')
  // Git would take it for an option.
  if (ref.startsWith('-')) throw new DiffError(`there is no commit ${ref}`)
  return { ref, json, help }
}

function parse() {
  try {
    return parseArgs({
      options: { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    })
  } catch (error) {
    throw new DiffError(`${(error as Error).message}; --help tells more`)
  }
}

// Reads the contract's files as they were then, those beside it too.
async function readerAt(ref: string, name: string): Promise<ReadText> {
  const found = await git('rev-parse', '--verify', '--quiet', `${ref}^{commit}`).catch((error) => {
    // Quiet about a name that leads nowhere, and about nothing else.
    throw new DiffError(firstLine(error.stderr) || `there is no commit ${ref}`)
  })
  const show = (file: string) => git('show', `${found.trim()}:./${file}`)
  await show(name).catch(() => {
    throw new DiffError(`there is no ${name} at ${ref}`)
  })
  return (file) => show(path.relative(path.dirname(contractFile), file))
}

async function git(...args: string[]): Promise<string> {
  const options = { cwd: path.dirname(contractFile), maxBuffer: 64 * 1024 * 1024 }
  const { stdout } = await promisify(execFile)('git', args, options)
  return stdout
}

async function parseContract(when = '', readText?: ReadText): Promise<Node> {
  const { document } = await readSource(contractFile, readText).catch((error) => {
    if (error instanceof ContractError) throw new DiffError(firstLine(error.message) + when)
    throw error
  })
  if (isNode(document)) return document
  throw new DiffError(`the contract${when} is no mapping`)
}

function firstLine(text: unknown): string {
  return String(text ?? '').split('\n', 1)[0] ?? ''
}

main().then(
  (code) => {
    process.exitCode = code
  },
  (error) => {
    process.stderr.write(`${error instanceof DiffError ? `contract:diff: ${error.message}` : error.stack}\n`)
    process.exitCode = 2
  },
)
