// A contract that the server can keep its word by: its lint, its own reading, and the server that a start would build.

import path from 'node:path'
import { ContractError } from '../../src/contract/contract-error.js'
import { readSource } from '../../src/contract/files.js'
import { readContract } from '../../src/contract/read.js'
import { unmetSecurity } from '../../src/contract/security.js'
import type { Contract } from '../../src/contract/types.js'
import { loadDocument } from './document.js'
import { lintContract } from './lint.js'
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
  const loaded = await loadDocument(file).catch(async (error) => {
    if (!(error instanceof ContractError)) await readSource(file) // which tells better what cannot be read, and where
    throw error
  })
  const { errors, warnings } = await lintContract(loaded).catch(async (error) => {
    if (!/^Self-referencing/.test(String(error?.message))) throw error
    throw new ContractError(`${path.relative(process.cwd(), file)}: a $ref leads back to itself`)
  })
  if (errors.length > 0) throw new ContractError(errors.join('\n'))
  const contract = await readContract(file)
  await check(contract).catch(async ({ problems }: ContractError) => {
    const { locate } = await readSource(file)
    throw new ContractError(problems.map(({ text, at }) => `${locate(at)}: ${text}`).join('\n'))
  })
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
