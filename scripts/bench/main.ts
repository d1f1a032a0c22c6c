// Benchmarks the built service, with all features on, and the alternatives that people would choose instead.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { print } from 'contract-engine/lib/terminal'
import { hasRedis } from 'contract-service/fixtures/redis-server'
import { runProcess, type Surroundings, UsageError } from 'contract-service/internal/commands/command'
import { OperatorError } from 'contract-service/internal/lib/operator-error'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'
import { type Bench, compareCounters, compareSubjects, growth, overload, start, sustain } from './benches.js'
import { withCommit } from './commit.js'
import { type BenchDatabase, startDatabase } from './database.js'
import { type Load, loads, type Titled } from './loads.js'
import { probedMegabytes, randomReadNs } from './memory-probe.js'
import { formatInteger } from './report.js'
import { defaultConnections, type Environment } from './runner.js'
import { sizing } from './sizing.js'
import { baselines, nodeProgram, type Subject, serviceIn } from './subjects.js'

const usage = `Usage: npm run bench -- [--quick | --redis | --start | --growth | --overload | --sustained MINUTES | --memory
                     | --sizing]
                     [--database-url URL] [--only NAME,NAME | --against COMMIT] [--loads NAME,NAME]
                     [--out FOLDER]

  (none)        the service and the baselines, in interleaved rounds; about 30 minutes
  --quick       the same with short rounds; about 10 minutes
  --redis       rate-limit counters in Redis compared with counters in memory; with --quick, in short rounds
  --start       time from process start to the first response
  --growth      lists at several depths of a table with 10,000,000 rows; also on Debian's PostgreSQL, if any
  --overload    four times the rate that the service can serve
  --sustained   throughput and memory over so many minutes of continuous load
  --memory      same as --sustained 10
  --sizing      memory and CPU of an instance by its connections, and disk for what it creates; about 3 minutes,
                and 3 for each baseline

  --database-url  a PostgreSQL server to use, in a temporary database; by default one is started
  --only          only these baselines: ${namesOf(baselines)}
  --against       instead of the baselines, the service of a commit, which is built first, or of a folder with a
                  built checkout: before and after a change
  --loads         only these loads: ${namesOf(loads)}
  --out           folder for the results; default scripts/bench/results
  --help          print this help

The first run installs and builds the baselines. Those in Go and Rust are skipped if \`go\` or \`cargo\` is
missing. On Linux x64, the service and the baselines of Node run on the Node of the image, which is
installed too; \`this-node\` is the service on the Node that runs the bench.

Examples:
  npm run bench -- --quick --only fastify-pg --loads get,create
  npm run bench -- --against HEAD~1 --out /tmp/comparison
  npm run bench -- --sustained 60

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
`

async function main(args: readonly string[], { interruption }: Surroundings): Promise<undefined> {
  const flags = readFlags(args)
  const chosenLoads = choose('--loads', loads, flags.loads)
  await withOthers(flags, interruption, async (others) => {
    const bench = chooseBench(flags, others, chosenLoads)
    await writeResults(bench, flags, args, interruption)
  })
}

async function writeResults(
  { name, title, rows, run }: Bench,
  flags: Flags,
  args: readonly string[],
  interruption: AbortSignal,
): Promise<void> {
  await withEnvironment(flags['database-url'], rows, interruption, async (environment) => {
    const { text, picture } = await run(environment)
    const command = ['npm run bench', ...(args.length > 0 ? ['--'] : []), ...args].join(' ')
    const provenance = `\`${command}\`, ${new Date().toISOString().slice(0, 10)}. ${machine(environment.database)}`
    const image = picture === undefined ? [] : [`![Requests per second](${name}.svg)`]
    const page = [`# ${title}`, provenance, ...image, text].join('\n\n')
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
  const benches = {
    quick: no,
    redis: no,
    start: no,
    growth: no,
    overload: no,
    memory: no,
    sizing: no,
    sustained: text,
  }
  return parseArgs({
    args: [...args],
    options: { ...benches, 'database-url': text, only: text, against: text, loads: text, out },
  }).values
}

type Flags = ReturnType<typeof readFlags>

// Runs `work` with the subjects to compare with.
function withOthers(
  { only, against }: Flags,
  interruption: AbortSignal,
  work: (others: readonly Subject[]) => Promise<void>,
): Promise<void> {
  if (against === undefined) return work(choose('--only', baselines, only))
  if (existsSync(against)) return work([serviceIn(against)])
  log(`building ${against}`)
  return withCommit(projectRoot, against, interruption, (root) => work([serviceIn(root)]))
}

function chooseBench(flags: Flags, others: readonly Subject[], chosenLoads: readonly Load[]): Bench {
  if (flags.start) return start
  if (flags.growth) return growth
  if (flags.overload) return overload
  if (flags.memory) return sustain(10)
  if (flags.sustained !== undefined) return sustain(minutesOf(flags.sustained))
  if (flags.redis && !hasRedis) throw new OperatorError('redis-server is not in PATH.')
  if (flags.sizing) return sizing(others)
  if (flags.redis) return compareCounters(chosenLoads, flags.quick)
  return compareSubjects(others, chosenLoads, flags.quick)
}

function choose<Each extends Titled>(
  flag: string,
  all: readonly Each[],
  names: string | undefined,
): readonly Each[] {
  const wanted = names?.split(',')
  const unknown = wanted?.find((name) => !all.some((each) => each.name === name))
  if (unknown !== undefined)
    throw new UsageError(`${flag}: unknown name "${unknown}"; the names are ${namesOf(all)}`)
  return all.filter(({ name }) => wanted?.includes(name) ?? true)
}

function namesOf(all: readonly Titled[]): string {
  return all.map(({ name }) => name).join(', ')
}

// At least one round, which takes half a minute.
function minutesOf(text: string): number {
  const minutes = Number(text)
  if (minutes >= 0.5) return minutes
  throw new UsageError('--sustained must be a number of minutes, at least 0.5')
}

function log(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
}

function withEnvironment<T>(
  databaseUrl: string | undefined,
  rows: number,
  interruption: AbortSignal,
  work: (environment: Environment) => Promise<T>,
): Promise<T> {
  return inTemporaryDirectory(async (folder) => {
    log(`creating a database with ${formatInteger(rows)} animals`)
    const database = await startDatabase(databaseUrl, rows, interruption)
    try {
      return await work({ database, folder, interruption, log })
    } finally {
      await database.close()
    }
  })
}

function machine({ version }: BenchDatabase): string {
  const cpus = os.cpus()
  const nodeVersion = execFileSync(nodeProgram(), ['--version'], { encoding: 'utf8' }).trim().slice(1)
  return [
    `${cpus.length} cores (${cpus[0]?.model.trim()}), shared by the load generator, the subjects and the database;`,
    `${Math.round(os.totalmem() / 2 ** 30)} GiB of memory, ${os.type()} ${os.machine()}, Node ${nodeVersion}, PostgreSQL ${version};`,
    `${defaultConnections} connections without pipelining.`,
    memorySpeed(),
  ].join(' ')
}

// Shown because the speed of memory affects ratios: those of two machines are comparable only if it is
// similar.
function memorySpeed(): string {
  const times = probedMegabytes.map((megabytes) => {
    return `${Math.round(randomReadNs(megabytes))} ns within ${megabytes} MB`
  })
  return `A random read takes ${times.join(', ')}.`
}

runProcess(usage, main)
