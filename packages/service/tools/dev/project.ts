// Handles each edit: generate, type-check, restart the server. A failure leaves the last good server running.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { diffContracts, lineOf, type Node } from 'contract-diff'
import { readSource } from 'contract-engine/tools'
import { contractFile, projectRoot } from '../../src/lib/paths.js'
import { countErrors, report, reportDetails } from './report.js'
import { ServerProcess } from './server.js'
import { checkServerTypes } from './types.js'
import type { Watched } from './watch.js'

const toolRunner = path.join(import.meta.dirname, '../../../project/run.mjs')

// After this many crashes the server is not restarted until the next edit.
const crashRestartsMax = 3

export class Project {
  readonly server = new ServerProcess(
    (how) => void this.#restartCrashed(how),
    (file) => this.watched.add(file),
  )
  /** True if the running server has the current files. */
  #isServed = false
  #mustBuild = false
  #mustGenerate = true
  /** The contract of the last generation, and the contract of the running server. */
  #contract: Node = {}
  #servedContract: Node | undefined
  /** Handlers that the generator has just written: their change is not an edit. */
  readonly #stubs = new Set<string>()
  /** True if the last check found errors in tests and scripts. */
  #hadOthers = false
  #crashRestarts = 0
  #queue = Promise.resolve()

  /** An abort of `stopping` cancels the running generator or compiler. */
  constructor(
    readonly stopping: AbortSignal,
    readonly watched: Watched,
  ) {}

  start(): Promise<void> {
    report('checking the contract and the sources')
    return this.#enqueue(() => this.#update())
  }

  /** Handles one burst of edited files. */
  async follow(burst: readonly string[]): Promise<void> {
    const edits = burst.filter((file) => !this.#stubs.delete(file))
    if (edits.length === 0) return
    report(`${edits.length > 3 ? `${edits.length} files` : edits.join(', ')} changed`)
    this.#crashRestarts = 0
    const isOfContract = (file: string) => this.watched.isContractFile(file)
    this.#mustBuild ||= edits.some(isOfPackage)
    this.#mustGenerate ||= edits.some((file) => isOfContract(file) || isGeneratedFrom(file))
    this.#isServed &&= !edits.some((file) => isOfContract(file) || isServed(file))
    await this.#enqueue(() => this.#update())
  }

  #enqueue(task: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(task).catch((error) => this.#fail(error.message))
    return this.#queue
  }

  async #update(): Promise<void> {
    const startMs = performance.now()
    if (this.#mustBuild && !(await this.#build())) return
    if (this.#mustGenerate && !(await this.#generate())) return
    const { errors, all } = await checkServerTypes(projectRoot, this.stopping)
    if (errors.length > 0) return this.#fail(`${countErrors(errors)} to fix`, errors)
    if (this.server.isRunning && this.#isServed) report('no restart needed')
    else if (!(await this.#restart(startMs))) return
    const { server: ofClient, others: ofTools } = await all()
    const others = [...ofClient, ...ofTools]
    if (others.length > 0)
      report(
        `${countErrors(others)} to fix in ${ofClient.length > 0 ? 'the client, ' : ''}tests and scripts`,
        others,
      )
    else if (this.#hadOthers) report('no errors left in tests and scripts')
    this.#hadOthers = others.length > 0
  }

  // Builds the packages, because the rest of the project imports their build output.
  async #build(): Promise<boolean> {
    const args = ['run', '--silent', '--workspaces', '--if-present', 'build']
    try {
      await promisify(execFile)('npm', args, { cwd: projectRoot, signal: this.stopping })
      this.#mustBuild = false
    } catch (error) {
      const { stdout, message } = error as Error & { stdout?: string } // execFile adds stdout
      this.#fail('a package does not compile', linesOf(stdout || message))
    }
    return !this.#mustBuild
  }

  // Generates in a child process, so that the generator's current sources are loaded.
  async #generate(): Promise<boolean> {
    const args = [toolRunner, 'generate']
    const options = { cwd: projectRoot, signal: this.stopping }
    try {
      const { stdout } = await promisify(execFile)(process.execPath, args, options)
      const lines = linesOf(stdout).filter((line) => !line.startsWith('generated/'))
      for (const line of lines) if (/^\S+ added/.test(line)) this.#stubs.add(line.replace(/ .*/, ''))
      this.#contract = (await readSource(contractFile)).document as Node // the generator accepted it
      if (this.#servedContract) reportDetails(diffContracts(this.#servedContract, this.#contract).map(lineOf))
      reportDetails(lines)
      this.#mustGenerate = false
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string } // execFile adds stderr
      this.#fail('the contract is invalid', linesOf(stderr || message))
    }
    return !this.#mustGenerate
  }

  async #restart(startMs: number): Promise<boolean> {
    const failure = await this.server.restart()
    if (failure !== undefined) {
      this.#fail(`the new server failed to start (${failure})`)
      return false
    }
    this.#isServed = true
    this.#servedContract = this.#contract
    report(`the new server is running (${((performance.now() - startMs) / 1_000).toFixed(1)} s)`)
    return true
  }

  // Checks again when its turn comes: an update queued earlier may have started the server.
  async #restartCrashed(how: string): Promise<void> {
    const isNow = ++this.#crashRestarts <= crashRestartsMax
    report(`the server exited (${how}); restarting it ${isNow ? 'now' : 'on the next edit'}`)
    if (isNow) await this.#enqueue(async () => (this.server.isRunning ? undefined : this.#update()))
  }

  #fail(what: string, details: readonly string[] = []): void {
    reportDetails(details)
    const { isRunning } = this.server
    report(`${what}; ${isRunning ? 'the last good server keeps running' : 'no server is running'}`)
  }
}

// The generator depends on the packages, and must notice a deleted handler.
function isGeneratedFrom(file: string): boolean {
  if (isOfPackage(file)) return true
  return file.startsWith('src/handlers/') && !existsSync(path.join(projectRoot, file))
}

function isOfPackage(file: string): boolean {
  return /^packages\/[^/]+\/src\//.test(file)
}

function isServed(file: string): boolean {
  return isOfPackage(file) || file.startsWith('src/')
}

function linesOf(text: string): string[] {
  return text.replaceAll(`${projectRoot}${path.sep}`, '').split('\n').filter(Boolean)
}
