// What follows an edit: generate, check types, let the new server take over, and say so. Whatever goes wrong is said,
// and leaves the last good server up.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { readSource } from '../../src/contract/files.js'
import { contractFile, projectRoot } from '../../src/paths.js'
import { diffContracts } from '../diff/contract.js'
import type { Node } from '../diff/node.js'
import { lineOf } from '../diff/report.js'
import { errors, say, sayMore } from './report.js'
import { Server } from './server.js'
import { checkTypes } from './types.js'
import { isContractFile } from './watch.js'

// A server that keeps ending waits for an edit.
const revivalsMax = 3

export class Project {
  readonly server = new Server((how) => void this.#inTurn(() => this.#revive(how)))
  /** Whether the server that runs is what the files say. */
  #isServed = false
  #mustGenerate = true
  /** The contract as generated from, and as served. */
  #contract: Node = {}
  #servedContract: Node | undefined
  /** Handlers that nobody edited: they were generated. */
  readonly #stubs = new Set<string>()
  /** Whether the last check found errors in tests and scripts. */
  #hadOthers = false
  #revivals = 0
  #queue = Promise.resolve()

  /** `stopping` ends what is under way. */
  constructor(readonly stopping: AbortSignal) {}

  start(): Promise<void> {
    say('checking the contract and the sources')
    return this.#inTurn(() => this.#update())
  }

  /** Takes the edited files up. */
  async follow(burst: readonly string[]): Promise<void> {
    const edits = burst.filter((file) => !this.#stubs.delete(file))
    if (edits.length === 0) return
    say(`${edits.length > 3 ? `${edits.length} files` : edits.join(', ')} edited`)
    this.#revivals = 0
    this.#mustGenerate ||= edits.some(isGeneratedFrom)
    this.#isServed &&= !edits.some(isServed)
    await this.#inTurn(() => this.#update())
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(task).catch((error) => this.#conclude(error.message))
    return this.#queue
  }

  async #update(): Promise<void> {
    const startMs = performance.now()
    if (this.#mustGenerate && !(await this.#generate())) return
    const { server, others } = await checkTypes(projectRoot)
    if (server.length > 0) return this.#conclude(`${errors(server)} to mend`, server)
    if (this.server.isRunning && this.#isServed) say('nothing changed for the server')
    else if (!(await this.#restart(startMs))) return
    if (others.length > 0) say(`${errors(others)} to mend in tests and scripts`, others)
    else if (this.#hadOthers) say('nothing is left to mend in tests and scripts')
    this.#hadOthers = others.length > 0
  }

  // In a process of its own: the generator as it is now, however it was edited.
  async #generate(): Promise<boolean> {
    const args = ['--import', 'tsx', path.join(projectRoot, 'scripts/generate/main.ts')]
    const options = { cwd: projectRoot, signal: this.stopping }
    try {
      const { stdout } = await promisify(execFile)(process.execPath, args, options)
      const lines = linesOf(stdout).filter((line) => !line.startsWith('generated/'))
      for (const line of lines) if (/^\S+ added/.test(line)) this.#stubs.add(line.replace(/ .*/, ''))
      this.#contract = (await readSource(contractFile)).document as Node // the generator could read it
      if (this.#servedContract) sayMore(diffContracts(this.#servedContract, this.#contract).map(lineOf))
      sayMore(lines)
      this.#mustGenerate = false
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string } // execFile's, with the output
      this.#conclude('the contract cannot be used', linesOf(stderr || message))
    }
    return !this.#mustGenerate
  }

  async #restart(startMs: number): Promise<boolean> {
    const failure = await this.server.restart()
    if (failure !== undefined) {
      this.#conclude(`the new server does not start (${failure})`)
      return false
    }
    this.#isServed = true
    this.#servedContract = this.#contract
    say(`the new server is up (${((performance.now() - startMs) / 1_000).toFixed(1)} s)`)
    return true
  }

  async #revive(how: string): Promise<void> {
    if (this.server.isRunning) return
    const isNow = ++this.#revivals <= revivalsMax
    say(`the server ended by itself (${how}); it starts again ${isNow ? 'now' : 'with the next edit'}`)
    if (isNow) await this.#update()
  }

  #conclude(what: string, lines: readonly string[] = []): void {
    sayMore(lines)
    const isUp = this.server.isRunning
    say(`${what}; ${isUp ? 'the last good server stays up' : 'no server is up until it is mended'}`)
  }
}

// The contract itself, what generates from it and what checks it; and a handler that went.
function isGeneratedFrom(file: string): boolean {
  if (isContractFile(file) || /^(scripts\/generate|src\/contract)\//.test(file)) return true
  return file.startsWith('src/handlers/') && !existsSync(path.join(projectRoot, file))
}

function isServed(file: string): boolean {
  return isContractFile(file) || /^(src|scripts\/generate)\//.test(file)
}

function linesOf(text: string): string[] {
  return text.replaceAll(`${projectRoot}${path.sep}`, '').split('\n').filter(Boolean)
}
