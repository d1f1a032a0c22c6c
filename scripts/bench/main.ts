#!/usr/bin/env node
// Measures the service, built and with everything on, beside what people would pick instead, on this machine.

import { mkdir, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { runCommand, UsageError } from '../../src/commands/command.js'
import { print } from '../../src/commands/terminal.js'
import { OperatorError } from '../../src/operator-error.js'
import { projectRoot } from '../../src/paths.js'
import { makeTemporaryDirectory } from '../lib/directory.js'
import { hasRedis } from '../lib/redis.js'
import { type Bench, compareCounters, compareSubjects, growth, overload, start, sustain } from './benches.js'
import { type BenchDatabase, startDatabase } from './database.js'
import { loads, type Titled } from './loads.js'
import { whole } from './report.js'
import { type Environment, usualConnections } from './runner.js'
import { baselines } from './subjects.js'

const usage = `Usage: npm run bench -- [--quick | --redis | --start | --growth | --overload | --sustained MINUTES | --memory]
                     [--database-url URL] [--only NAME,NAME] [--loads NAME,NAME] [--out FOLDER]

  (nothing)     the service and the baselines, in interleaved rounds; about twenty minutes
  --quick       the same with short rounds; less than four minutes
  --redis       the service with its counters in Redis, to the service with them in memory; with --quick, in short rounds
  --start       from the start to the first response
  --growth      lists at several depths of 10,000,000 animals
  --overload    four times the rate that the service can serve
  --sustained   so many minutes of unbroken load: rate and memory
  --memory      the same for ten minutes

  --database-url  a PostgreSQL to use, in a database of the run's own; otherwise one is started
  --only          these baselines alone: ${namesOf(baselines)}
  --loads         these loads alone: ${namesOf(loads)}
  --out           where the results go; scripts/bench/results
  --help          this

The first run installs and builds the baselines; those of Go and Rust are skipped where there is no \`go\` or \`cargo\`.

Examples:
  npm run bench -- --quick --only fastify-pg --loads get,create
  npm run bench -- --sustained 60

Exit codes: 0 done, 1 not done, and why is said on standard error, 2 wrong usage, 130 interrupted.
`

async function main(args: readonly string[], interruption: AbortSignal): Promise<undefined> {
  const flags = readFlags(args)
  const { name, title, rows, run } = chooseBench(flags)
  await withEnvironment(flags['database-url'], rows, interruption, async (environment) => {
    const { text, picture } = await run(environment)
    const command = ['npm run bench', ...(args.length > 0 ? ['--'] : []), ...args].join(' ')
    const origin = `\`${command}\`, ${new Date().toISOString().slice(0, 10)}. ${machine(environment.database)}`
    const image = picture === undefined ? [] : [`![Requests a second](${name}.svg)`]
    const page = [`# ${title}`, origin, ...image, text].join('\n\n')
    await mkdir(flags.out, { recursive: true })
    await writeFile(path.join(flags.out, `${name}.md`), page)
    if (picture !== undefined) await writeFile(path.join(flags.out, `${name}.svg`), picture)
    await print(page)
    log(`written to ${path.relative(process.cwd(), path.join(flags.out, `${name}.md`))}`)
  })
}

function readFlags(args: readonly string[]) {
  const no = { type: 'boolean', default: false } as const
  const text = { type: 'string' } as const
  const out = { ...text, default: path.join(projectRoot, 'scripts/bench/results') }
  const benches = { quick: no, redis: no, start: no, growth: no, overload: no, memory: no, sustained: text }
  return parseArgs({
    args: [...args],
    options: { ...benches, 'database-url': text, only: text, loads: text, out },
  }).values
}

function chooseBench(flags: ReturnType<typeof readFlags>): Bench {
  if (flags.start) return start
  if (flags.growth) return growth
  if (flags.overload) return overload
  if (flags.memory) return sustain(10)
  if (flags.sustained !== undefined) return sustain(minutesOf(flags.sustained))
  if (flags.redis && !hasRedis) throw new OperatorError('There is no redis-server in PATH.')
  const chosenLoads = choose('--loads', loads, flags.loads)
  if (flags.redis) return compareCounters(chosenLoads, flags.quick)
  return compareSubjects(choose('--only', baselines, flags.only), chosenLoads, flags.quick)
}

function choose<Each extends Titled>(
  flag: string,
  all: readonly Each[],
  names: string | undefined,
): readonly Each[] {
  const wanted = names?.split(',')
  const unknown = wanted?.find((name) => !all.some((each) => each.name === name))
  if (unknown !== undefined)
    throw new UsageError(`${flag} must be of ${namesOf(all)}; "${unknown}" is none of them`)
  return all.filter(({ name }) => wanted?.includes(name) ?? true)
}

function namesOf(all: readonly Titled[]): string {
  return all.map(({ name }) => name).join(', ')
}

// A round takes half a minute.
function minutesOf(text: string): number {
  const minutes = Number(text)
  if (minutes >= 0.5) return minutes
  throw new UsageError('--sustained must be a number of minutes, at least 0.5')
}

function log(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
}

async function withEnvironment<T>(
  databaseUrl: string | undefined,
  rows: number,
  interruption: AbortSignal,
  work: (environment: Environment) => Promise<T>,
): Promise<T> {
  const { directory: folder, remove } = await makeTemporaryDirectory()
  try {
    log(`making a database with ${whole(rows)} animals`)
    const database = await startDatabase(databaseUrl, rows, interruption)
    try {
      return await work({ database, folder, interruption, log })
    } finally {
      await database.close()
    }
  } finally {
    await remove()
  }
}

function machine({ version }: BenchDatabase): string {
  const cpus = os.cpus()
  return [
    `${cpus.length} cores (${cpus[0]?.model.trim()}), shared by the load generator, the subjects and the database;`,
    `${Math.round(os.totalmem() / 2 ** 30)} GiB of memory, ${os.type()} ${os.machine()}, Node ${process.versions.node}, PostgreSQL ${version};`,
    `${usualConnections} connections without pipelining.`,
  ].join(' ')
}

runCommand(usage, main)
