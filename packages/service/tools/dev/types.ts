// Checks the types of a project. The compiler is a child process, so that this process still reacts to
// signals.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { text } from 'node:stream/consumers'

const require = createRequire(import.meta.url)
const { compilerOf }: Compilers = require('../../../project/compiler.cjs')

/** The type of project/compiler.cjs, which is not written in TypeScript. */
interface Compilers {
  compilerOf(root: string): {
    readonly program: string
    readonly isNative: boolean
    readonly env: NodeJS.ProcessEnv
  }
}

/** The type errors of a project, as `src/x.ts:17:10 error TS2322: …`. */
export interface TypeErrors {
  /** In the code that the server runs. */
  readonly server: readonly string[]
  /** In tests and scripts. */
  readonly others: readonly string[]
}

/**
 * Type-checks the project in a folder, incrementally by its build info.
 * @param stopping its abort ends the compiler
 * @throws {Error} if the compiler itself fails
 */
export async function checkTypes(root: string, stopping?: AbortSignal): Promise<TypeErrors> {
  const lines = diagnosticsOf(await compile(root, [], stopping)).map(lineOf)
  return { server: lines.filter((line) => !isOther(line)), others: lines.filter(isOther) }
}

/** The type errors of the service, and a function that checks the whole project. */
export interface ServerTypes {
  readonly errors: readonly string[]
  all(): Promise<TypeErrors>
}

/**
 * Checks only the files of the service, if the project has a tsconfig.build.json: that takes a fifth of the
 * time. Otherwise checks the whole project at once.
 * @throws {Error} if the compiler itself fails
 */
export async function checkServerTypes(root: string, stopping?: AbortSignal): Promise<ServerTypes> {
  const own = 'tsconfig.build.json'
  if (!existsSync(path.join(root, own))) {
    const found = await checkTypes(root, stopping)
    return { errors: found.server, all: async () => found }
  }
  const args = ['-p', own, '--noEmit', '--tsBuildInfoFile', 'dist/server.tsbuildinfo']
  const lines = diagnosticsOf(await compile(root, args, stopping)).map(lineOf)
  return { errors: lines.filter((line) => !isOther(line)), all: () => checkTypes(root, stopping) }
}

function isOther(line: string): boolean {
  return /^(test|scripts)\//.test(line)
}

// Runs the compiler in its own process group: a terminal sends Ctrl-C to every process of its group.
// `program` may start the native compiler as a child; both are then killed together.
async function compile(root: string, args: readonly string[], stopping?: AbortSignal): Promise<string> {
  stopping?.throwIfAborted()
  const { program, isNative, env } = compilerOf(root)
  const child = spawn(process.execPath, [program, ...settings, ...(isNative ? oneThread : []), ...args], {
    ...{ cwd: root, env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stop = () => {
    try {
      process.kill(-Number(child.pid), 'SIGKILL')
    } catch {} // it has just ended
  }
  stopping?.addEventListener('abort', stop)
  child.once('exit', () => stopping?.removeEventListener('abort', stop))
  const ended = once(child, 'close') // rejects if the compiler cannot be started
  const [stdout, stderr, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  if (code === 0) return ''
  if (stdout === '') throw new Error(`the compiler exited with ${signal ?? code}\n${stderr}`)
  return stdout
}

const settings = ['--pretty', 'false']

// Type-checking with two threads takes a third more CPU: each reads the types that files share.
const oneThread = ['--singleThreaded']

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
  const [, place = '', message = first] = /^(.+\(\d+,\d+\)): (.+)$/.exec(first) ?? []
  const cause = message.length > lengthMax ? causes.at(-1) : undefined
  const where = place.replace(/\((\d+),(\d+)\)$/, ':$1:$2 ')
  return `${where}${shortened(message)}${cause ? `\n${shortened(cause)}` : ''}`
}

function shortened(text: string): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text
}
