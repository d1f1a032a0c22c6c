// The types of a project, as its compiler finds them: in a process of its own, so that signals need not wait for it.

import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'

/** What one check found, as `src/x.ts:17:10 error TS2322: …`. */
export interface Diagnosis {
  /** In what the server runs. */
  readonly server: readonly string[]
  /** In tests and scripts. */
  readonly others: readonly string[]
}

// Of a project in which everything is wrong.
const outputMax = 100_000_000

/**
 * Checks the types of the project in that folder as it is now; what the last check found out is in its build info.
 * @throws {Error} where the compiler itself fails
 */
export async function checkTypes(root: string): Promise<Diagnosis> {
  const lines = diagnosticsOf(await compile(root)).map(lineOf)
  const isOther = (line: string) => /^(test|scripts)\//.test(line)
  return { server: lines.filter((line) => !isOther(line)), others: lines.filter(isOther) }
}

async function compile(root: string): Promise<string> {
  const compiler = path.join(root, 'node_modules/@typescript/native/lib/tsc.js')
  const options = {
    cwd: root,
    maxBuffer: outputMax,
    detached: true, // out of the terminal's process group: Ctrl-C is not for it
  }
  try {
    await promisify(execFile)(process.execPath, [compiler, '--pretty', 'false'], options)
    return ''
  } catch (error) {
    const { stdout, stderr, code, signal } = error as Record<string, unknown> // execFile's, with the output
    if (stdout) return String(stdout)
    throw new Error(`the compiler ended (${signal ?? code})\n${stderr}`)
  }
}

// Each begins a line; what is indented below it are its causes.
function diagnosticsOf(output: string): string[][] {
  const found: string[][] = []
  for (const line of output.split('\n').filter(Boolean)) {
    if (line.startsWith(' ')) found.at(-1)?.push(line.trim())
    else found.push([line])
  }
  return found
}

// Longer lines say less.
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
