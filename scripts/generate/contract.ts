// A contract that the server can keep its word by: its lint, its own reading, and the server that a start would build.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { ContractError } from '../../src/contract/contract-error.js'
import { readSource } from '../../src/contract/files.js'
import { readContract } from '../../src/contract/read.js'
import { unmetSecurity } from '../../src/contract/security.js'
import type { Contract } from '../../src/contract/types.js'
import { type Findings, isLarge, lintFile } from './lint.js'
import type { Said } from './lint-process.js'
import { checkServer } from './server.js'

export interface Checked {
  readonly contract: Contract
  /** What the contract says and the server can live with. */
  readonly warnings: readonly string[]
}

/**
 * Reads a contract and whatever it refers to.
 * @param check builds its server
 * @throws {ContractError} naming what the server could not keep its word by, and where that stands, a line each
 */
export async function checkContract(
  file: string,
  check: (contract: Contract) => Promise<void> = checkServer,
): Promise<Checked> {
  const beside = (await isLarge(file)) ? lintBeside(file) : undefined
  const reading = beside && readChecked(file, check)
  reading?.catch(() => {}) // what the lint finds is said first
  const { errors, warnings } = await (beside ?? lintFile(file))
  if (errors.length > 0) throw new ContractError(errors.join('\n'))
  const contract = await (reading ?? readChecked(file, check))
  const unmet = [...contract.operations.values()].flatMap(
    (operation) => unmetSecurity(operation, contract) ?? [],
  )
  return {
    contract,
    warnings: [
      ...warnings,
      ...contract.left.map((text) => `warning: ${text}`),
      ...unmet.map((text) => `warning: ${text}: it can only answer 501`),
    ],
  }
}

async function lintBeside(file: string): Promise<Findings> {
  const child = fork(fileURLToPath(new URL('./lint-process.ts', import.meta.url)), [file])
  const ended = once(child, 'exit').then(() => [{ refusal: 'the lint failed, as it says above' }])
  const [said] = (await Promise.race([once(child, 'message'), ended])) as [Said]
  if ('refusal' in said) throw new ContractError(said.refusal)
  return said
}

async function readChecked(file: string, check: (contract: Contract) => Promise<void>): Promise<Contract> {
  const contract = await readContract(file)
  await check(contract).catch(async ({ problems }: ContractError) => {
    const { locate } = await readSource(file)
    throw new ContractError(problems.map(({ text, at }) => `${locate(at)}: ${text}`).join('\n'))
  })
  return contract
}
