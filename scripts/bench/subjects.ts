// What is measured: the service as it is built and run, and what people would pick instead.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { projectRoot } from '../../src/project.js'
import { freePort } from '../stack/port.js'

export interface Subject {
  readonly name: string
  readonly title: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** The service, everything on; its log goes to a file. */
export const service: Subject = {
  name: 'service',
  title: 'This service, everything on',
  args: ['--enable-source-maps', path.join(projectRoot, 'dist/src/main.js')],
}

/** What people would pick instead. */
export const baselines: readonly Subject[] = [
  baseline('fastify-postgres', 'Fastify + postgres.js, nothing else'),
  baseline('fastify-pg', 'Fastify + pg, nothing else'),
  baseline('express', 'Express 5 + express-openapi-validator + pg, comparable features'),
  baseline('hono', 'Hono + @hono/zod-openapi + pg, requests validated'),
  baseline('node-http', 'node:http, a static body'),
]

function baseline(name: string, title: string): Subject {
  return { name, title, args: [path.join(projectRoot, 'scripts/bench/baselines', `${name}.mjs`)] }
}

export interface RunningSubject extends Subject {
  readonly pid: number
  readonly port: number
  /** From its start to its first answer. */
  readonly startMs: number
  stop(): Promise<void>
}

const startTimeoutMs = 60_000
const retryMs = 5

/** Starts a subject as a process of its own and waits for its first answer. Its output goes to the file. */
export async function startSubject(
  subject: Subject,
  env: Readonly<Record<string, string>>,
  logFile: string,
): Promise<RunningSubject> {
  const port = await freePort()
  const begin = performance.now()
  const child = spawnSubject(subject, { ...env, ...subject.env, PORT: String(port) }, logFile)
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`${subject.name} does not start; see ${logFile}`)
    if (performance.now() - begin > startTimeoutMs) throw new Error(`${subject.name} does not answer`)
    await delay(retryMs)
  }
  const startMs = performance.now() - begin
  return { ...subject, pid: child.pid ?? 0, port, startMs, stop: () => stop(child) }
}

function spawnSubject({ args }: Subject, env: Record<string, string>, logFile: string): ChildProcess {
  const log = openSync(logFile, 'a')
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, args, {
    cwd: projectRoot,
    env: { PATH, HOME, NODE_ENV: 'production', ...env },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  return child
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await Promise.race([ended, delay(10_000, undefined, { ref: false }).then(() => child.kill('SIGKILL'))])
  await ended
}

/** Whether anything at all is answered over HTTP on the port. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('connect', () => socket.write('GET /readyz HTTP/1.1\r\nHost: bench\r\n\r\n'))
    socket.on('data', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
    socket.on('close', () => resolve(false))
  })
}
