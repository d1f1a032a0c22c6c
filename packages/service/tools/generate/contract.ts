// Checks a contract completely: lints it, reads it, and builds the server as startup would.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { ContractError } from 'contract-engine'
import type { ReadContract } from 'contract-engine/compile'
import { hiddenTexts, type Problem, proxyWarnings, replacedPaths } from 'contract-engine/tools'
import { readServiceContract, type ServiceContract } from '../../src/auth/plans.js'
import { healthPaths, securityTxtPath } from '../../src/http/service-paths.js'
import { isLarge, type LintResult, lintFile } from './lint.js'
import type { LintMessage } from './lint-process.js'
import { summarizeByKind, withoutNames } from './summarize.js'

export interface Checked {
  readonly contract: ServiceContract & ReadContract
  /** Problems that do not keep the server from starting, one per line. */
  readonly warnings: readonly string[]
}

/** Builds the server of a contract. @throws {ContractError} if startup would fail */
export type CheckServer = (contract: ServiceContract) => Promise<{
  /** Warnings. */
  readonly noted: readonly Problem[]
  /** Problems that stubs would cause once they are implemented. */
  readonly planned: readonly Problem[]
}>

/**
 * Reads and checks a contract and the files it refers to.
 * @throws {ContractError} with every problem and its location, one per line
 */
export async function checkContract(file: string, check: CheckServer): Promise<Checked> {
  const beside = (await isLarge(file)) ? lintBeside(file) : undefined
  const reading = beside && readChecked(file, check)
  reading?.catch(() => {}) // awaited below, after the lint's errors
  const { errors, warnings } = await (beside ?? lintFile(file).catch((error) => lintDeep(file, error)))
  if (errors.length > 0) throw new ContractError(errors.join('\n'))
  const { contract, noted, planned } = await (reading ?? readChecked(file, check))
  return {
    contract,
    warnings: [...warnings, ...alike(noted), ...alike(planned, ': it can only respond with 501')],
  }
}

function alike(texts: readonly string[], consequence = ''): string[] {
  return summarizeByKind(
    texts,
    withoutNames,
    (text) => `warning: ${text}${consequence}`,
    (count) => `warning: and ${count} more like these`,
  )
}

// Redocly's recursion overflows the stack on some documents, such as those with long chains of references.
// This is six times the default stack, and fits the eight megabytes that operating systems allow.
const execArgv = [...process.execArgv, '--stack-size=6000']

// Set by run.mjs: the path of the program that runs a bundled tool by its name.
declare const toolRunner: string | undefined

async function lintBeside(file: string): Promise<LintResult> {
  const [program, ...tool] =
    typeof toolRunner === 'string'
      ? [toolRunner, 'generate/lint-process']
      : [fileURLToPath(import.meta.resolve('./lint-process.js'))]
  const child = fork(program, [...tool, file], { execArgv })
  const exited = once(child, 'exit').then(() => [
    { refusal: 'the lint process failed: see its output above' },
  ])
  const [message] = (await Promise.race([once(child, 'message'), exited])) as [LintMessage]
  if ('refusal' in message) throw new ContractError(message.refusal)
  return message
}

function lintDeep(file: string, error: unknown): Promise<LintResult> {
  if (error instanceof RangeError) return lintBeside(file)
  throw error
}

interface Read {
  readonly contract: ServiceContract & ReadContract
  /** The warnings of the contract, one per line. */
  readonly noted: readonly string[]
  /** The problems that stubs would cause once they are implemented, one per line. */
  readonly planned: readonly string[]
}

async function readChecked(file: string, check: CheckServer): Promise<Read> {
  const contract = await readServiceContract(file)
  try {
    const { noted, planned } = await check(contract)
    const replaced = replacedPaths(contract, [...Object.values(healthPaths), securityTxtPath])
    const ofTools = [...hiddenTexts(contract), ...proxyWarnings(contract), ...replaced]
    const allNoted = [...contract.warnings, ...ofTools, ...noted]
    const lines = await contract.locate([...allNoted, ...planned]) // one call: each reads the file
    return { contract, noted: lines.slice(0, allNoted.length), planned: lines.slice(allNoted.length) }
  } catch (error) {
    if (!(error instanceof ContractError)) throw error
    throw new ContractError((await contract.locate(error.problems)).join('\n'))
  }
}
