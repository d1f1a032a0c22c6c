// Counts how often a warm request changes from one module to another: every function that it enters is
// recorded, helpers of `lib/` left out. With the name of a request it prints the functions.

import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { print } from 'contract-engine/lib/terminal'
import { readServiceContract } from 'contract-service/internal/auth/plans'
import { contractFile } from 'contract-service/internal/lib/paths'
import { makeTemporaryDirectory } from 'contract-service/tools/lib/directory'
import { built, openTerms, runKeys } from 'contract-service/tools/lib/service'

interface Entry {
  readonly module: string
  readonly name: string
}

const warmUps = 50
// The shortest of so many is shown: a response of PostgreSQL that arrives in several packets is several events.
const records = 10
// For what follows a response: its log line, the end of its transaction.
const settleMs = 50

let entries: Entry[] | undefined
globalThis.entered = (module, name) => {
  if (!/(^|\/)lib\//.test(module)) entries?.push({ module, name })
}

async function main(): Promise<void> {
  const [shown] = process.argv.slice(2)
  const { directory, remove } = await makeTemporaryDirectory()
  const environment = { DATA_DIR: path.join(directory, 'data'), LOG_LEVEL: 'silent' }
  const base = await startInThisProcess(environment)
  const terms = openTerms(await readServiceContract(contractFile))
  const key = await runKeys(['create', '--name', 'trace', ...terms], environment)
  for (const [kind, send] of Object.entries(requestsTo(base, key))) {
    const trace = await record(send)
    if (shown === undefined) await print(`${kind}: ${summaryOf(trace)}\n`)
    else if (shown === kind) await print(trace.map(({ module, name }) => `${module} ${name}\n`).join(''))
  }
  process.on('exit', () => void remove())
  process.kill(process.pid, 'SIGTERM') // the service stops, and ends this process
}

async function startInThisProcess(environment: Record<string, string>): Promise<string> {
  Object.assign(process.env, environment, { PORT: '0' })
  const write = process.stderr.write
  const started = new Promise<string>((resolve) => {
    process.stderr.write = (text) => {
      const [, base] = / at (http\S+)/.exec(String(text)) ?? []
      if (base !== undefined) resolve(base)
      return true
    }
  })
  const program = built('src/main.js')
  process.argv[1] = program // whose contract is the one of the build
  void import(program) // which ends with the process
  const base = await started
  process.stderr.write = write
  return base
}

function requestsTo(base: string, key: string): Record<string, () => Promise<Response>> {
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
  await delay(settleMs)
  const trace: Entry[] = []
  entries = trace
  await (await send()).text()
  await delay(settleMs)
  entries = undefined
  return trace
}

function summaryOf(trace: readonly Entry[]): string {
  const start = trace.findIndex(({ module }) => module === 'engine/serve/route-handler')
  const insert = trace.findIndex(({ name }) => name === 'writeRow')
  const sent = trace.findIndex(({ module }, i) => i > insert && module === 'database/driver/connection')
  const toInsert =
    insert === -1 ? '' : `; from the route handler to its INSERT ${countsOf(trace.slice(start, sent + 1))}`
  return `${countsOf(trace)}${toInsert}`
}

function countsOf(trace: readonly Entry[]): string {
  const changes = trace.filter(({ module }, i) => i > 0 && trace[i - 1]?.module !== module).length
  const modules = new Set(trace.map(({ module }) => module)).size
  return `${trace.length} functions, ${changes} changes of module, ${modules} modules`
}

await main()
