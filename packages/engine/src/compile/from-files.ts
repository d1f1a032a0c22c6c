// Loads the modules that read the files of a contract only when they are called: a server that loads a plan
// needs none of them.

import type { ExtensionReaders, OperationExtensionReaders, ReadBy } from '../document/extension-readers.js'
import type { ReadText } from '../document/file-text.js'
import type { CompileOptions } from './compile-contract.js'
import type { ReadContract } from './read.js'

/**
 * Reads and checks the contract.
 * @param readText replaces reading files from the folder of the contract: see `filesOf`
 * @param readers read the extensions of the document that the engine does not know
 * @param operationReaders read the extensions of operations
 * @throws {ContractError} with every problem, one per line: `openapi.yaml:12:7: message`
 */
export async function readContract<Readers extends ExtensionReaders = Readonly<Record<never, never>>>(
  file: string,
  readText?: ReadText,
  readers?: Readers,
  operationReaders?: OperationExtensionReaders,
): Promise<ReadContract & { readonly extensions: ReadBy<Readers> }> {
  const reading = await import('./read.js')
  return reading.readContract(file, readText, readers, operationReaders)
}

/**
 * Compiles a contract into a plan. From the plan, `loadContract` makes the contract that `readContract` makes
 * from the files.
 * @throws {ContractError} as `readContract` does, or if a reader returns a value that is not plain data
 */
export async function compileContract(file: string, options?: CompileOptions): Promise<Uint8Array> {
  const compiling = await import('./compile-contract.js')
  return compiling.compileContract(file, options)
}
