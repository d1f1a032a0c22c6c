// Redis servers that can be killed, restarted on the same port, frozen and thawed.

import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from 'contract-engine/testing/port'
import { kill, untilReady } from './child.js'

/** Whether PATH has a redis-server. */
export const hasRedis: boolean = spawnSync('redis-server', ['--version']).error === undefined

/** Runs redis-cli and returns its output. */
export async function redisCli(...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)('redis-cli', args)).stdout
}

export class RedisServer {
  #child: ChildProcess | undefined

  private constructor(
    readonly port: number,
    readonly directory: string,
    readonly settings: readonly string[],
  ) {}

  /**
   * Starts a server without persistence on a free port, and waits until it is ready.
   * @param settings further arguments; a configuration file must come first
   */
  static async start(directory: string, ...settings: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), directory, settings)
    await server.start()
    return server
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts it, again empty and on the same port. */
  async start(): Promise<void> {
    const args = ['--bind', '127.0.0.1', '--port', `${this.port}`, '--dir', this.directory, '--save', '']
    const child = spawn('redis-server', [...this.settings, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    await untilReady(child.stdout, /Ready to accept connections|\+monitor/) // the latter from a sentinel
  }

  /** Kills it. Its data is lost. */
  async kill(): Promise<void> {
    if (this.#child !== undefined) await kill(this.#child)
  }

  /** Stops the process: connections stay open and new ones are accepted, without replies. */
  freeze(): void {
    this.#child?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child?.kill('SIGCONT')
  }
}

const pollMs = 20

/** Three masters, each with a replica that is promoted after the master was unavailable for two seconds. */
export class RedisCluster {
  private constructor(
    readonly masters: readonly RedisServer[],
    readonly replicas: readonly RedisServer[],
  ) {}

  /**
   * Starts the cluster, and waits until it serves all slots and the replicas are in sync.
   * @param settings returns further arguments for one server
   */
  static async start(
    directory: string,
    settings: () => Promise<readonly string[]> = async () => [],
  ): Promise<RedisCluster> {
    const servers: RedisServer[] = []
    try {
      for (let i = 0; i < 6; i++) {
        const own = await mkdtemp(path.join(directory, 'redis-'))
        const bus = ['--cluster-enabled', 'yes', '--cluster-port', `${await freePort()}`]
        const times = ['--cluster-node-timeout', '2000', '--repl-diskless-sync-delay', '0']
        servers.push(await RedisServer.start(own, ...bus, ...times, ...(await settings())))
      }
      const cluster = new RedisCluster(servers.slice(0, 3), servers.slice(3))
      await cluster.#join()
      return cluster
    } catch (error) {
      await Promise.all(servers.map((server) => server.kill()))
      throw error
    }
  }

  /** For REDIS_URL. */
  get url(): string {
    return `redis+cluster://${this.masters.map(addressOf).join(',')}`
  }

  /** Resolves with the master that has keys matching the pattern. */
  masterOf(pattern: string): Promise<RedisServer> {
    return untilOneReplies(this.masters, ['KEYS', pattern], 'animal-store')
  }

  /** Resolves when a replica is promoted. */
  async untilPromoted(): Promise<void> {
    await untilOneReplies(this.replicas, ['ROLE'], 'master')
  }

  async kill(): Promise<void> {
    await Promise.all([...this.masters, ...this.replicas].map((server) => server.kill()))
  }

  async #join(): Promise<void> {
    const addresses = [...this.masters, ...this.replicas].map(addressOf)
    await redisCli('--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes')
    await Promise.all([
      ...this.masters.map((server) => untilOneReplies([server], ['CLUSTER', 'INFO'], 'cluster_state:ok')),
      ...this.replicas.map((server) => untilOneReplies([server], ['INFO'], 'master_link_status:up')),
    ])
  }
}

function addressOf({ port }: RedisServer): string {
  return `127.0.0.1:${port}`
}

/** Repeats a command until the reply of a server contains a text. Resolves with that server. */
export async function untilOneReplies(
  servers: readonly RedisServer[],
  command: readonly string[],
  text: string,
): Promise<RedisServer> {
  for (;;) {
    for (const server of servers)
      if ((await redisCli('-p', `${server.port}`, ...command)).includes(text)) return server
    await delay(pollMs)
  }
}
