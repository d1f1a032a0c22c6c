// Sends uploads to a service in a separate process, and watches its memory meanwhile.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'

export interface UploadServer {
  readonly origin: string
  /** The memory of its process, in bytes. */
  rss(): Promise<number>
  stop(): Promise<void>
}

/** Starts a service that takes uploads, in a separate process. */
export async function startUploadServer(env: NodeJS.ProcessEnv = {}): Promise<UploadServer> {
  const program = fileURLToPath(import.meta.resolve('contract-service/fixtures/upload-server'))
  const child = fork(program, { env: { ...process.env, ...env }, execArgv: process.execArgv })
  const { origin } = (await message(child)) as { readonly origin: string }
  return {
    origin,
    async rss() {
      child.send('rss')
      return ((await message(child)) as { readonly rss: number }).rss
    },
    async stop() {
      child.kill()
      await once(child, 'exit')
    },
  }
}

async function message(child: ChildProcess): Promise<unknown> {
  const [received] = await once(child, 'message')
  return received
}

export interface Measured {
  readonly statuses: readonly number[]
  /** The maximum growth of the process's memory. */
  readonly moreBytes: number
  readonly ms: number
}

/** Sends uploads all at once, and watches the memory of the service. */
export async function measureUploads(
  server: UploadServer,
  { count, bytes, as = 'body' }: { count: number; bytes: number; as?: Form },
): Promise<Measured> {
  const before = await server.rss()
  const watch = watchMemory(server)
  const begin = performance.now()
  const sent = Array.from({ length: count }, () => upload(server.origin, bytes, as))
  const statuses = await Promise.all(sent)
  const ms = Math.round(performance.now() - begin)
  return { statuses, moreBytes: (await watch.stop()) - before, ms }
}

function watchMemory(server: UploadServer): { stop(): Promise<number> } {
  let most = 0
  let isOver = false
  const look = async () => {
    while (!isOver) {
      most = Math.max(most, await server.rss())
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return most
  }
  const looking = look()
  return {
    stop() {
      isOver = true
      return looking
    },
  }
}

const bytesBlock = Buffer.alloc(65_536, 'x')
const linesBlock = Buffer.from(
  `${JSON.stringify({ id: 7, name: 'A kite of paper', tags: ['wind', 'red'] })}\n`.repeat(1_000),
)
const fields = '--b\r\nContent-Disposition: form-data; name="title"\r\n\r\nRex'
const fileOf = (name: string) =>
  `\r\n--b\r\nContent-Disposition: form-data; name="${name}"; filename="a"\r\n\r\n`

/** The form of an upload: a body, the file of a form, three files of a form, or lines of items. */
type Form = 'body' | 'file' | 'files' | 'lines'

interface FormParts {
  readonly path: string
  readonly type: string
  /** The names of the form's files; empty for other uploads. */
  readonly files: readonly string[]
  readonly block: Buffer
}

const multipart = { type: 'multipart/form-data; boundary=b', block: bytesBlock }
const forms: Readonly<Record<Form, FormParts>> = {
  body: { path: 'open-photos', type: 'application/octet-stream', files: [], block: bytesBlock },
  file: { ...multipart, path: 'forms', files: ['photo'] },
  files: { ...multipart, path: 'scans', files: ['pages', 'pages', 'pages'] },
  lines: { path: 'toys', type: 'application/x-ndjson', files: [], block: linesBlock },
}

function* contentOf(bytes: number, { files, block }: FormParts): Generator<Buffer> {
  if (files.length === 0) return yield* blocks(block, bytes)
  yield Buffer.from(fields)
  for (const name of files) {
    yield Buffer.from(fileOf(name))
    yield* blocks(block, Math.ceil(bytes / files.length))
  }
  yield Buffer.from('\r\n--b--\r\n')
}

// A block of lines is never cut, so that the last block ends at the end of a line.
function* blocks(block: Buffer, bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= block.length)
    yield block === linesBlock ? block : block.subarray(0, left)
}

/** Uploads so many bytes. Resolves with the status of the response. */
export async function upload(origin: string, bytes: number, as: Form = 'body'): Promise<number> {
  const form = forms[as]
  const url = `${origin}/v1/${form.path}`
  const headers = { 'content-type': form.type }
  const request = http.request(url, { method: 'POST', headers, agent: false })
  const responded = once(request, 'response') as Promise<[http.IncomingMessage]>
  pipeline(Readable.from(contentOf(bytes, form)), request).catch(() => {}) // the response tells why
  const [response] = await responded
  await buffer(response)
  return Number(response.statusCode)
}

const stalledCount = 12

/**
 * Sends most of a body to a public operation, then nothing. Measures the time until each upload has its
 * response.
 */
export async function measureStalled(server: UploadServer, bytes: number): Promise<Measured> {
  const before = await server.rss()
  const watch = watchMemory(server)
  const begin = performance.now()
  const statuses = await Promise.all(Array.from({ length: stalledCount }, () => stall(server.origin, bytes)))
  const ms = Math.round(performance.now() - begin)
  return { statuses, moreBytes: (await watch.stop()) - before, ms }
}

async function stall(origin: string, bytes: number): Promise<number> {
  const headers = { 'content-type': 'application/octet-stream', 'content-length': bytes }
  const request = http.request(`${origin}/v1/open-photos`, { method: 'POST', headers, agent: false })
  request.on('error', () => {})
  for (let left = bytes * 0.9; left > 0; left -= bytesBlock.length) {
    if (!request.write(bytesBlock)) await once(request, 'drain')
  }
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  request.destroy()
  return Number(response.statusCode)
}
