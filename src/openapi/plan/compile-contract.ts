// The files of a contract -> its plan: reads and checks it as `readContract` does, once for all starts.

import { isDeepStrictEqual } from 'node:util'
import type { Contract } from '../contract/contract.js'
import { ContractError } from '../contract/contract-error.js'
import type { ExtensionReaders, OperationExtensionReaders } from '../contract/extensions.js'
import { filesOf, type ReadText } from '../contract/file-text.js'
import { readContract } from '../contract/read.js'
import { engineVersion } from './engine-version.js'
import { decodePlan, digestOf, encodePlan, nameIn } from './plan.js'

export interface CompileOptions {
  /** Replaces reading files from the folder of the contract: see `filesOf`. */
  readonly readText?: ReadText
  /** Of extensions of the document that the engine does not know. */
  readonly readers?: ExtensionReaders
  /** Of extensions of operations. */
  readonly operationReaders?: OperationExtensionReaders
  /** A text that differs when the code of the readers does, for `isCurrent`. */
  readonly readersVersion?: string
}

/**
 * Compiles a contract to a plan, of which `loadContract` makes what `readContract` makes of the files.
 * @throws {ContractError} as `readContract` does, or if a reader returns what is no plain data
 */
export async function compileContract(
  file: string,
  { readText = filesOf(file), readers = {}, operationReaders = {}, readersVersion = '' }: CompileOptions = {},
): Promise<Uint8Array> {
  const texts = new Map<string, string>()
  const read: ReadText = async (name) => {
    const text = await readText(name)
    texts.set(nameIn(file, name), text)
    return text
  }
  const { locate: _, ...contract } = await readContract(file, read, readers, operationReaders)
  const digests = [...texts].map(([name, text]) => [name, digestOf(text)])
  const head = { files: Object.fromEntries(digests), engine: engineVersion(), readers: readersVersion }
  const extensions = Object.keys({ ...readers, ...operationReaders })
  return proved(contract, () => encodePlan(head, { contract, texts, extensions }))
}

// What the engine reads is plain data. What readers of extensions make may be anything.
function proved(contract: Omit<Contract, 'locate'>, encode: () => Uint8Array): Uint8Array {
  const plan = unlessFunction(encode)
  if (plan !== undefined && isDeepStrictEqual(decodePlan(plan)?.body.contract, contract)) return plan
  const extensions = [contract, ...contract.operations.values()].flatMap((each) =>
    Object.keys(each.extensions),
  )
  const names = [...new Set(extensions)].join(', ')
  throw new ContractError(
    `a plan holds plain data, which the reader of an extension does not return: ${names}`,
  )
}

function unlessFunction(encode: () => Uint8Array): Uint8Array | undefined {
  try {
    return encode()
  } catch {
    return undefined // a function, or a symbol
  }
}
