// Checks the types of a project. The compiler is a child process, so that this one responds to signals.

import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'

/** The type errors of a project, as `src/x.ts:17:10 error TS2322: …`. */
export interface TypeErrors {
  /** In the code that the server runs. */
  readonly server: readonly string[]
  /** In tests and scripts. */
  readonly others: readonly string[]
}

// Enough for a project in which every line has an error.
const outputMax = 100_000_000

/**
 * Type-checks the project in that folder, incrementally by its build info.
 * @throws {Error} if the compiler itself fails
 */
export async function checkTypes(root: string): Promise<TypeErrors> {
  const lines = diagnosticsOf(await compile(root)).map(lineOf)
  const isOther = (line: string) => /^(test|scripts)\//.test(line)
  return { server: lines.filter((line) => !isOther(line)), others: lines.filter(isOther) }
}

async function compile(root: string): Promise<string> {
  const compiler = path.join(root, 'node_modules/@typescript/native/lib/tsc.js')
  const options = {
    cwd: root,
    maxBuffer: outputMax,
    detached: true, // outside the terminal's process group, which gets Ctrl-C
  }
  try {
    const args = [compiler, '--pretty', 'false', '--checkers', '2']
    await promisify(execFile)(process.execPath, args, options)
    return ''
  } catch (error) {
    const { stdout, stderr, code, signal } = error as Record<string, unknown> // execFile adds these
    if (stdout) return String(stdout)
    throw new Error(`the compiler exited with ${signal ?? code}\n${stderr}`)
  }
}

// A diagnostic starts at the margin; the indented lines below it are its causes.
function diagnosticsOf(output: string): string[][] {
  const found: string[][] = []
  for (const line of output.split('\n').filter(Boolean)) {
    if (line.startsWith(' ')) found.at(-1)?.push(line.trim())
    else found.push([line])
  }
  return found
}

// A longer message is cut, and its last cause is shown below it.
const lengthMax = 160

function lineOf([first = '', ...causes]: readonly string[]): string {
  const [, place = '', text = first] = /^(.+\(\d+,\d+\)): (.+)$/.exec(first) ?? []
  const cause = text.length > lengthMax ? causes.at(-1) : undefined
  const where = place.replace(/\((\d+),(\d+)\)$/, ':$1:$2 ')
  return `${where}${shortened(text)}${cause ? `\n${shortened(cause)}` : ''}`
}

function shortened(text: string): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text
}
