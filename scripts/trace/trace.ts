// Counts how often a warm request changes from one module to another, by each function that it enters;
// helpers in `lib/` do not count. With the name of a request, prints the functions. Exits with 1 if a count
// exceeds its limit (`figures.ts`).

import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { print } from 'contract-engine/lib/terminal'
import { readServiceContract } from 'contract-service/internal/auth/plans'
import { contractFile } from 'contract-service/internal/lib/paths'
import { makeTemporaryDirectory } from 'contract-service/tools/lib/directory'
import { built, openTerms, runKeys } from 'contract-service/tools/lib/service'
import { type Entry, excessOf, type Figures, figuresOf, type Kind, toInsert } from './figures.js'

const warmUps = 50
// The shortest of so many traces is shown: in some, the key of the request has to be looked up again.
const records = 10
// Event loop turns for work after a response, such as its log line. None of it waits for PostgreSQL or a
// timer.
const turns = 10

// Left out, because PostgreSQL may send a response in several packets, each an event of the socket.
const leftOut = /(^|\/)lib\/|^database\/driver\/socket$/

let entries: Entry[] | undefined
globalThis.entered = (module, name) => {
  if (!leftOut.test(module)) entries?.push({ module, name })
}

async function main(): Promise<void> {
  const [shown] = process.argv.slice(2)
  const { directory } = await makeTemporaryDirectory()
  const environment = { DATA_DIR: path.join(directory, 'data'), LOG_LEVEL: 'silent' }
  const base = await startInThisProcess(environment)
  const terms = openTerms(await readServiceContract(contractFile))
  const key = await runKeys(['create', '--name', 'trace', ...terms], environment)
  const excess: string[] = []
  for (const [kind, send] of Object.entries(requestsTo(base, key))) {
    const trace = await record(send)
    excess.push(...excessOf(kind as Kind, trace)) // a request of each kind
    if (shown === undefined) await print(`${kind}: ${summaryOf(trace)}\n`)
    else if (shown === kind) await print(trace.map(({ module, name }) => `${module} ${name}\n`).join(''))
  }
  for (const sentence of excess) console.error(sentence)
  process.on('exit', () => {
    if (excess.length > 0) process.exitCode = 1
    rmSync(directory, { recursive: true, force: true })
  })
  process.kill(process.pid, 'SIGTERM') // the service stops, and ends this process
}

async function startInThisProcess(environment: Record<string, string>): Promise<string> {
  Object.assign(process.env, environment, { PORT: '0' })
  const write = process.stderr.write
  const started = new Promise<string>((resolve) => {
    process.stderr.write = (text) => {
      const [, base] = / at (http\S+)/.exec(String(text)) ?? []
      // Without an address, the output tells why the service does not start.
      if (base === undefined) write.call(process.stderr, text)
      else resolve(base)
      return true
    }
  })
  const program = built('src/main.js')
  process.argv[1] = program // so that it uses the contract of the build
  void import(program) // it ends with the process
  const base = await started
  process.stderr.write = write
  return base
}

function requestsTo(base: string, key: string): Record<Kind, () => Promise<Response>> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  const create = (more: object) =>
    fetch(`${base}/pets`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: '{"name":"Rex","categoryId":1,"status":"sold"}',
    })
  return {
    create: () => create({}),
    keyed: () => create({ 'Idempotency-Key': randomUUID() }),
    list: () => fetch(`${base}/pets`, { headers }),
    get: () => fetch(`${base}/pets/1`, { headers }),
  }
}

async function record(send: () => Promise<Response>): Promise<readonly Entry[]> {
  for (let i = 0; i < warmUps; i++) await (await send()).text()
  const traces: (readonly Entry[])[] = []
  for (let i = 0; i < records; i++) traces.push(await recordOne(send))
  return traces.reduce((shortest, each) => (each.length < shortest.length ? each : shortest))
}

async function recordOne(send: () => Promise<Response>): Promise<readonly Entry[]> {
  await settle()
  const trace: Entry[] = []
  entries = trace
  await (await send()).text()
  await settle()
  entries = undefined
  return trace
}

async function settle(): Promise<void> {
  for (let i = 0; i < turns; i++) await nextTurn()
}

function summaryOf(trace: readonly Entry[]): string {
  const way = toInsert(trace)
  return way.length === 0
    ? told(figuresOf(trace))
    : `${told(figuresOf(trace))}; from the route handler to its INSERT ${told(figuresOf(way))}`
}

function told({ functions, changes, modules }: Figures): string {
  return `${functions} functions, ${changes} changes of module, ${modules} modules`
}

await main()
