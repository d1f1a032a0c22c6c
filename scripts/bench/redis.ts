// A Redis for the length of a run.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { freePort } from './subjects.js'

/** Whether there is a redis-server in PATH. */
export const hasRedis: boolean = spawnSync('redis-server', ['--version']).error === undefined

/** Starts one that keeps nothing. */
export async function startRedis(folder: string): Promise<{ url: string; stop(): Promise<void> }> {
  const port = await freePort()
  const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', '']
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes('Ready to accept connections')) break
  }
  child.stdout.resume() // read on, or a full pipe would hold it up
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      const ended = once(child, 'exit')
      child.kill()
      await ended
    },
  }
}
