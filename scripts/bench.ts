#!/usr/bin/env node
// Measures the service, built and with everything on, beside what people would pick instead, on this machine.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { projectRoot } from '../src/project.js'
import { compare, type Settings } from './bench/comparison.js'
import { type BenchDatabase, startDatabase } from './bench/database.js'
import { type Generator, startGenerator } from './bench/generator.js'
import { measureGrowth } from './bench/growth.js'
import { measureOverload } from './bench/overload.js'
import { plot } from './bench/plot.js'
import { comparisonTables, type Goal, titlesOf, whole } from './bench/report.js'
import { measureStarts } from './bench/start-time.js'
import { baselines, type RunningSubject, type Subject, service, startSubject } from './bench/subjects.js'
import { measureSustained } from './bench/sustained.js'
import { hasRedis, RedisServer } from './stack/redis.js'

const usage = `Usage: npm run bench -- [--quick | --redis | --start | --growth | --overload | --sustained MINUTES | --memory]
                     [--database-url URL] [--only NAME,NAME] [--out FOLDER]

  (nothing)     the service and the baselines, in interleaved rounds; about fifteen minutes
  --quick       the same with short rounds; about three minutes
  --redis       the service with its counters in Redis, to the service with them in memory
  --start       from the start to the first answer
  --growth      lists at several depths of 10,000,000 animals
  --overload    four times the rate that the service can serve
  --sustained   so many minutes of unbroken load: rate and memory
  --memory      the same for ten minutes

  --database-url  a PostgreSQL to use, in a database of the run's own; otherwise one is started
  --only          these baselines alone: ${baselines.map(({ name }) => name).join(', ')}
  --out           where the results go; scripts/bench/results
`

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    redis: { type: 'boolean', default: false },
    start: { type: 'boolean', default: false },
    growth: { type: 'boolean', default: false },
    overload: { type: 'boolean', default: false },
    memory: { type: 'boolean', default: false },
    sustained: { type: 'string' },
    'database-url': { type: 'string' },
    only: { type: 'string' },
    out: { type: 'string', default: path.join(projectRoot, 'scripts/bench/results') },
    help: { type: 'boolean', default: false },
  },
})

const rows = flags.growth ? 10_000_000 : 1_000_000
const connections = 64
const settings: Settings = flags.quick
  ? { rounds: 3, slices: 3, sliceMs: 200, warmUpMs: 1_000, connections, rows }
  : { rounds: 7, slices: 10, sliceMs: 300, warmUpMs: 3_000, connections, rows }

// What the medians of the ratios are to be at least.
const goals: readonly Goal[] = [
  { baseline: 'fastify-pg', atLeast: { list: 1, 'list-by-status': 1, get: 1, create: 1 } },
  { baseline: 'fastify-postgres', atLeast: { list: 1.8, 'list-by-status': 1.8, get: 2.5, create: 1.6 } },
  { baseline: 'express', atLeast: { list: 4, 'list-by-status': 4, get: 4, create: 4 } },
]
const redisGoals: readonly Goal[] = [
  { baseline: 'service', atLeast: { list: 0.8, 'list-by-status': 0.8, get: 0.8, create: 0.8 } },
]

interface Run {
  readonly database: BenchDatabase
  readonly generator: Generator
  /** Temporary: logs and scripts. */
  readonly folder: string
  start(subject: Subject): Promise<RunningSubject>
  /** What is to be stopped at the end, the last first. */
  readonly stops: (() => Promise<void>)[]
}

/** A file of results: its name and, with a comparison, a picture. */
interface Results {
  readonly name: string
  readonly title: string
  readonly text: string
  readonly picture?: string
}

function tell(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
}

async function measure(run: Run): Promise<Results> {
  if (flags.start) return starts(run)
  if (flags.redis) return redis(run)
  const parts = { ...run, rows, connections, tell }
  if (flags.overload) {
    const text = await measureOverload({ ...parts, subject: await run.start(service) })
    return { name: 'overload', title: 'Overload', text }
  }
  if (flags.growth) {
    const text = await measureGrowth({ ...parts, subject: await run.start(service) })
    return { name: 'growth', title: 'Growth', text }
  }
  const minutes = flags.memory ? 10 : Number(flags.sustained)
  if (minutes > 0) {
    tell(`${minutes} minutes of load`)
    const text = await measureSustained({ ...parts, subject: await run.start(service), minutes })
    return { name: 'sustained', title: `${minutes} minutes of unbroken load`, text }
  }
  return comparison(run)
}

async function starts({ database, folder }: Run): Promise<Results> {
  const text = await measureStarts(database, path.join(folder, 'start.log'))
  return { name: 'start', title: 'Start', text }
}

async function comparison(run: Run): Promise<Results> {
  installBaselines()
  const wanted = flags.only?.split(',')
  const chosen = baselines.filter(({ name }) => wanted === undefined || wanted.includes(name))
  const subjects: RunningSubject[] = []
  for (const subject of [service, ...chosen]) subjects.push(await run.start(subject))
  const turns = await compare({ ...run, subjects, settings, tell })
  const titles = titlesOf(subjects)
  return {
    name: flags.quick ? 'quick' : 'speed',
    title: 'Speed',
    text: comparisonTables(turns, titles, goals),
    picture: plot(turns, titles),
  }
}

async function redis(run: Run): Promise<Results> {
  if (!hasRedis) throw new Error('there is no redis-server in PATH')
  const server = await RedisServer.start(run.folder)
  run.stops.push(() => server.kill())
  const shared = {
    ...service,
    name: 'service-redis',
    title: 'Counters in Redis',
    env: { REDIS_URL: server.url },
  }
  const subjects = [await run.start(shared), await run.start({ ...service, title: 'Counters in memory' })]
  const turns = await compare({ ...run, subjects, settings, tell })
  return { name: 'redis', title: 'Redis', text: comparisonTables(turns, subjects, redisGoals) }
}

// In a folder of their own, with a lock of their own: the service's install knows nothing of them.
function installBaselines(): void {
  const folder = path.join(projectRoot, 'scripts/bench')
  if (existsSync(path.join(folder, 'node_modules/.package-lock.json'))) return
  tell('installing what the baselines need')
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--prefix', folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) throw new Error('npm ci failed in scripts/bench')
}

async function withRun<T>(work: (run: Run) => Promise<T>): Promise<T> {
  const stops: (() => Promise<void>)[] = []
  const folder = await mkdtemp(path.join(os.tmpdir(), 'animal-store-bench-run-'))
  stops.push(() => rm(folder, { recursive: true, force: true }))
  try {
    tell(`making a database with ${whole(rows)} animals`)
    const database = await startDatabase(flags['database-url'], rows)
    stops.push(() => database.close())
    const generator = startGenerator()
    stops.push(async () => generator.stop())
    const start = async (subject: Subject) => {
      const running = await startSubject(subject, database.env, path.join(folder, `${subject.name}.log`))
      stops.push(() => running.stop())
      return running
    }
    return await work({ database, generator, folder, start, stops })
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

function machine({ version }: BenchDatabase): string {
  const cpus = os.cpus()
  return [
    `${cpus.length} cores (${cpus[0]?.model.trim()}), shared by the load generator, the subjects and the database;`,
    `${Math.round(os.totalmem() / 2 ** 30)} GiB of memory, ${os.type()} ${os.machine()}, Node ${process.versions.node}, PostgreSQL ${version};`,
    `${connections} connections without pipelining.`,
  ].join(' ')
}

async function main(): Promise<void> {
  if (flags.help) {
    process.stdout.write(usage)
    return
  }
  await withRun(async (run) => {
    const { name, title, text, picture } = await measure(run)
    const command = `npm run bench${process.argv
      .slice(2)
      .map((each, i) => `${i === 0 ? ' --' : ''} ${each}`)
      .join('')}`
    const image = picture === undefined ? '' : `![Requests a second](${name}.svg)\n\n`
    const page = `# ${title}\n\n\`${command}\`, ${new Date().toISOString().slice(0, 10)}. ${machine(run.database)}\n\n${image}${text}`
    await mkdir(flags.out, { recursive: true })
    await writeFile(path.join(flags.out, `${name}.md`), page)
    if (picture !== undefined) await writeFile(path.join(flags.out, `${name}.svg`), picture)
    process.stdout.write(page)
    tell(`written to ${path.relative(process.cwd(), path.join(flags.out, `${name}.md`))}`)
  })
}

await main()
