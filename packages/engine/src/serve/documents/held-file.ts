// A file that is read when it is first asked for, as it was when the server began to listen: an upgrade in
// place removes or replaces the files of a running version, which would respond 500.

import { closeSync, fstatSync, openSync, read } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'

/** Holds a file open while an application listens. Returns a function that reads the file. */
export function heldFile(app: FastifyInstance, file: URL): () => Promise<Buffer> {
  let descriptor: number | undefined
  app.addHook('onListen', async () => {
    descriptor = openSync(file, 'r') // synchronous, because `listen` resolves after it
  })
  app.addHook('onClose', async () => {
    if (descriptor !== undefined) closeSync(descriptor)
    descriptor = undefined
  })
  return () => (descriptor === undefined ? readFile(file) : readAll(descriptor))
}

async function readAll(descriptor: number): Promise<Buffer> {
  const bytes = Buffer.alloc(fstatSync(descriptor).size)
  await promisify(read)(descriptor, bytes, 0, bytes.length, 0)
  return bytes
}
