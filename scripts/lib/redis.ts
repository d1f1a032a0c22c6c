// Redises that can be killed, brought back at the same address, frozen and thawed.

import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { kill, untilReady } from './child.js'
import { freePort } from './port.js'

/** Whether there is a redis-server in PATH. */
export const hasRedis: boolean = spawnSync('redis-server', ['--version']).error === undefined

/** Runs redis-cli, and gives what it says. */
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

  /** Starts one on a free port, which keeps nothing, and waits until it answers. `settings` are further arguments of its, a file before all others. */
  static async start(directory: string, ...settings: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), directory, settings)
    await server.start()
    return server
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts it again, empty, at the same address. */
  async start(): Promise<void> {
    const args = ['--bind', '127.0.0.1', '--port', `${this.port}`, '--dir', this.directory, '--save', '']
    const child = spawn('redis-server', [...this.settings, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    await untilReady(child.stdout, /Ready to accept connections|\+monitor/) // the latter says a sentinel
  }

  /** Ends it at once, with everything it held. */
  async kill(): Promise<void> {
    if (this.#child !== undefined) await kill(this.#child)
  }

  /** It keeps its connections and takes new ones, but answers nothing. */
  freeze(): void {
    this.#child?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child?.kill('SIGCONT')
  }
}

const pollMs = 20

/** Three masters with a part of the keys each, and a replica of each, which takes its place when it is away for two seconds. */
export class RedisCluster {
  private constructor(
    readonly masters: readonly RedisServer[],
    readonly replicas: readonly RedisServer[],
  ) {}

  /**
   * Starts it, and waits until all keys have a master, and replicas what that has.
   * @param settings further arguments of one of its servers
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

  /** As a service is told. */
  get url(): string {
    return `redis+cluster://${this.masters.map(addressOf).join(',')}`
  }

  /** Resolves with the master that has keys of such a name. */
  masterOf(pattern: string): Promise<RedisServer> {
    return untilOneSays(this.masters, ['KEYS', pattern], 'animal-store')
  }

  /** Resolves when a replica has taken its master's place. */
  async untilPromoted(): Promise<void> {
    await untilOneSays(this.replicas, ['ROLE'], 'master')
  }

  async kill(): Promise<void> {
    await Promise.all([...this.masters, ...this.replicas].map((server) => server.kill()))
  }

  async #join(): Promise<void> {
    const addresses = [...this.masters, ...this.replicas].map(addressOf)
    await redisCli('--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes')
    await Promise.all([
      ...this.masters.map((server) => untilOneSays([server], ['CLUSTER', 'INFO'], 'cluster_state:ok')),
      ...this.replicas.map((server) => untilOneSays([server], ['INFO'], 'master_link_status:up')),
    ])
  }
}

function addressOf({ port }: RedisServer): string {
  return `127.0.0.1:${port}`
}

/** Resolves with the first of the servers that says a text in its answer to a command. */
export async function untilOneSays(
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
