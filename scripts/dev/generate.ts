// `npm run generate` in a process of its own: the generator as it is now, however it was edited.

import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { projectRoot } from '../../src/paths.js'

export interface Generation {
  readonly isDone: boolean
  /** What it says of handlers, or what is wrong with the contract. */
  readonly lines: readonly string[]
  /** The handlers that it added. */
  readonly stubs: readonly string[]
}

/** Generates from the contract. A failure has left all as it was. */
export async function generate(signal: AbortSignal): Promise<Generation> {
  const args = ['--import', 'tsx', path.join(projectRoot, 'scripts/generate.ts')]
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: projectRoot, signal })
    const lines = linesOf(stdout).filter((line) => !line.startsWith('generated/'))
    const stubs = lines.flatMap((line) => /^(\S+) added/.exec(line)?.[1] ?? [])
    return { isDone: true, lines, stubs }
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    return { isDone: false, lines: linesOf(stderr || message), stubs: [] }
  }
}

function linesOf(text: string): string[] {
  return text.replaceAll(`${projectRoot}${path.sep}`, '').split('\n').filter(Boolean)
}
