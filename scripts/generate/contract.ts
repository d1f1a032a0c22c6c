// A contract that the server can keep its word by: its lint, its own reading, and the server that a start would build.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { ContractError, type Problem } from '../../src/contract/contract-error.js'
import { readSource } from '../../src/contract/files.js'
import { readContract } from '../../src/contract/read.js'
import { unsupportedSecurity } from '../../src/contract/security.js'
import type { Contract } from '../../src/contract/types.js'
import { summarizeByKind, withoutNames } from './alike.js'
import { type Findings, isLarge, lintFile } from './lint.js'
import type { Said } from './lint-process.js'

export interface Checked {
  readonly contract: Contract
  /** What the contract says and the server can live with. */
  readonly warnings: readonly string[]
}

/** Builds the server of a contract, and finds what would stop a start if more operations were written than are. */
export type CheckServer = (contract: Contract) => Promise<readonly Problem[]>

/**
 * Reads a contract and whatever it refers to.
 * @throws {ContractError} naming what the server could not keep its word by, and where that stands, a line each
 */
export async function checkContract(file: string, check: CheckServer): Promise<Checked> {
  const beside = (await isLarge(file)) ? lintBeside(file) : undefined
  const reading = beside && readChecked(file, check)
  reading?.catch(() => {}) // what the lint finds is said first
  const { errors, warnings } = await (beside ?? lintFile(file))
  if (errors.length > 0) throw new ContractError(errors.join('\n'))
  const { contract, planned } = await (reading ?? readChecked(file, check))
  const unmet = [...contract.operations.values()].flatMap(
    (operation) => unsupportedSecurity(operation, contract) ?? [],
  )
  return {
    contract,
    warnings: [
      ...warnings,
      ...alike(contract.warnings),
      ...alike(unmet, ': it can only respond with 501'),
      ...alike(planned, ': it can only respond with 501'),
    ],
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

async function lintBeside(file: string): Promise<Findings> {
  const child = fork(fileURLToPath(new URL('./lint-process.ts', import.meta.url)), [file])
  const ended = once(child, 'exit').then(() => [{ refusal: 'the lint failed, as it says above' }])
  const [said] = (await Promise.race([once(child, 'message'), ended])) as [Said]
  if ('refusal' in said) throw new ContractError(said.refusal)
  return said
}

interface Read {
  readonly contract: Contract
  /** What would stop a start if more operations were written than are, a line each. */
  readonly planned: readonly string[]
}

async function readChecked(file: string, check: CheckServer): Promise<Read> {
  const contract = await readContract(file)
  const linesOf = async (problems: readonly Problem[]) => {
    const { locate } = await readSource(file)
    return problems.map(({ text, at }) => `${locate(at)}: ${text}`)
  }
  try {
    const planned = await check(contract)
    return { contract, planned: planned.length > 0 ? await linesOf(planned) : [] }
  } catch (error) {
    if (!(error instanceof ContractError)) throw error
    throw new ContractError((await linesOf(error.problems)).join('\n'))
  }
}
