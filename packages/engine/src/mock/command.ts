// `contract-engine mock`: serves a contract before it has handlers, or with those that exist.

import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { readContract } from '../compile/index.js'
import { ContractError } from '../document/contract-error.js'
import { filesOf } from '../document/file-text.js'
import { runCommandLine, type Streams, WrongUsage } from '../lib/command-line.js'
import { OperatorError } from '../lib/operator-error.js'
import { firstLines } from '../lib/texts.js'
import { refuseInProduction } from './mock-parts.js'

const usage = `Usage: contract-engine mock CONTRACT [--port PORT] [--host HOST] [--handlers FILE]

Serves a contract: each operation responds with its declared success, with the contract's examples, or else
with values made from its schemas. Requests are validated, any credential of a declared form is accepted.
A request may prefer another response:

  Prefer: code=404      one with this status
  Prefer: example=NAME  this example

  --port PORT       by default that of the environment variable PORT, or 4010; 0 for any
  --host HOST       by default that of the environment variable HOST, or 127.0.0.1
  --handlers FILE   a module that exports functions by the names of their operations, as for \`mount\`:
                    these respond themselves
  --root FOLDER     the folder that the files of the contract are in; by default that of CONTRACT
  --extension NAME  an extension of the document, x-…, that others than the engine read
  --help            this

For development alone: with NODE_ENV=production it refuses to start.

Exit codes: 0 stopped, 1 the contract cannot be served, 2 wrong usage.
`

const options = {
  port: { type: 'string' },
  host: { type: 'string' },
  handlers: { type: 'string' },
  root: { type: 'string' },
  extension: { type: 'string', multiple: true, default: [] as string[] },
  help: { type: 'boolean', short: 'h', default: false },
} as const

/** The parts of the process that the command uses. */
export interface Surroundings extends Streams {
  readonly env: NodeJS.ProcessEnv
}

/**
 * Runs the command. Resolves to its exit code when it is stopped or cannot serve.
 * @param stop ends the command; by default, a signal that interrupts the process
 */
export function runCommand(
  args: readonly string[],
  { stdout, stderr, env }: Surroundings,
  stop: AbortSignal = interruption(),
): Promise<number> {
  const streams = { stdout, stderr }
  return runCommandLine({ usage, options, isTold }, args, streams, async ({ values, positionals }) => {
    const [file, ...others] = positionals
    if (file === undefined || others.length > 0) throw new WrongUsage()
    const place = placeOf(values, env)
    refuseInProduction(env)
    await serve(file, { ...values, ...place }, streams, stop)
    return 0
  })
}

// An option takes precedence over its variable, even if the variable is wrong.
function placeOf(
  values: { readonly port?: string; readonly host?: string },
  env: NodeJS.ProcessEnv,
): Pick<Served, 'port' | 'host'> {
  const variable = (name: string) => env[name]?.trim() || undefined
  const port = values.port ?? variable('PORT') ?? '4010'
  const host = values.host ?? variable('HOST') ?? '127.0.0.1'
  if (host.trim() === '') throw new WrongUsage('--host must be an address of this machine')
  if (/^\d+$/.test(port) && Number(port) <= 65_535) return { port: Number(port), host }
  if (values.port !== undefined) throw new WrongUsage('--port must be from 0 to 65535')
  throw new ContractError(`PORT must be an integer from 0 to 65535, got ${JSON.stringify(port)}`)
}

function isTold(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException
  return error instanceof OperatorError || code === 'ERR_MODULE_NOT_FOUND'
}

// Listens; the errors of Fastify name the host or the port.
async function listening(app: FastifyInstance, port: number, host: string): Promise<string> {
  try {
    return await app.listen({ port, host })
  } catch (error) {
    await app.close()
    const { code = '', message } = error as NodeJS.ErrnoException
    if (/^(?:EADDRINUSE|EACCES)$/.test(code)) throw new ContractError(`${message}: choose another port`)
    const advice = 'the host must be an address of this machine, such as 127.0.0.1 or 0.0.0.0'
    throw new ContractError(`${message}: ${advice}`)
  }
}

interface Served {
  readonly port: number
  readonly host: string
  readonly handlers?: string
  readonly root?: string
  readonly extension: readonly string[]
}

const skippedMax = 100

async function serve(
  file: string,
  { port, host, handlers: module, root, extension }: Served,
  { stdout, stderr }: Streams,
  stop: AbortSignal,
): Promise<void> {
  const readers = Object.fromEntries(extension.map((name) => [name, (value: unknown) => value]))
  const contract = await readContract(file, filesOf(file, root), readers, readers)
  const handlers = module === undefined ? {} : await import(pathToFileURL(path.resolve(module)).href)
  const { buildMock } = await import('./server.js').catch(explainMissing)
  const { app, left } = await buildMock(contract, { handlers })
  const skipped = left.map(({ text, at }) => ({ text: `responds 501: ${text}`, at }))
  for (const line of firstLines(await contract.locate(skipped), skippedMax)) stderr.write(`${line}\n`)
  const origin = await listening(app, port, host)
  const { size } = contract.operations
  stdout.write(`${contract.title} at ${origin}${contract.prefix}: ${size} operations; ${origin}/docs\n`)
  await new Promise<void>((resolve) => {
    if (stop.aborted) resolve()
    stop.addEventListener('abort', () => resolve())
  })
  app.server.closeAllConnections()
  await app.close()
}

// Fastify may be missing where the engine only generates or compares contracts.
function explainMissing(cause: NodeJS.ErrnoException): never {
  if (cause.code !== 'ERR_MODULE_NOT_FOUND' || !cause.message.includes("'fastify'")) throw cause
  const missing = 'mock needs Fastify, which is not installed: npm install --save-dev fastify@5'
  throw new OperatorError(missing, { cause })
}

function interruption(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort())
  return controller.signal
}
