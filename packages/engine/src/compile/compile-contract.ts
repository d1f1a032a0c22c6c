// Compiles the files of a contract into a plan: reads and checks them as `readContract` does, once for all
// starts of the server. Without a plan, each start would take seconds for a contract of 160 operations, and
// hold the code that reads it.

import { isDeepStrictEqual } from 'node:util'
import type { Contract, FileForm, FileServers } from '../document/contract.js'
import { ContractError } from '../document/contract-error.js'
import { engineVersion } from '../document/engine-version.js'
import type { ExtensionReaders, OperationExtensionReaders } from '../document/extension-readers.js'
import { filesOf, type ReadText } from '../document/file-text.js'
import { hasRelativeServer } from '../document/own-server.js'
import { Reader } from '../document/reader.js'
import { isOpenApi32 } from '../document/versions.js'
import {
  type ContractData,
  decodePlan,
  digestOf,
  encodePlan,
  nameIn,
  type PlanBody,
  pack,
  writtenName,
} from '../plan/plan.js'
import { compileCode } from './code/print.js'
import { readContract } from './read.js'

export interface CompileOptions {
  /** Replaces reading files from the folder of the contract: see `filesOf`. */
  readonly readText?: ReadText
  /** Read the extensions of the document that the engine does not know. */
  readonly readers?: ExtensionReaders
  /** Read the extensions of operations. */
  readonly operationReaders?: OperationExtensionReaders
  /** A text that changes when the code of the readers changes. `isCurrent` compares it. */
  readonly readersVersion?: string
}

/**
 * Compiles a contract into a plan. From the plan, `loadContract` makes the contract that `readContract` makes
 * from the files.
 * @throws {ContractError} as `readContract` does, or if a reader returns a value that is not plain data
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
  const whole = await readContract(file, read, readers, operationReaders)
  const { locate: _, functions: __, text: ___, named: ____, write, ...contract } = whole
  const digests = [...texts].map(([name, text]) => [name, digestOf(text)])
  const head = { files: Object.fromEntries(digests), engine: engineVersion(), readers: readersVersion }
  const body = {
    contract,
    code: Buffer.from(compileCode(whole)),
    leftOpen: leftOpenIn(contract),
    written: await writtenBy(write, contract),
    texts: new Map([...texts].map(([name, text]) => [name, pack(text)])),
  }
  return proved(contract, () => encodePlan(head, body))
}

function leftOpenIn({ specification }: ContractData): PlanBody['leftOpen'] {
  const reader = new Reader(specification)
  const limits = reader.node(reader.document['x-limits'])
  return { url: !('urlBytes' in limits), header: !('headerBytes' in limits) }
}

async function writtenBy(write: Contract['write'], { document }: ContractData): Promise<PlanBody['written']> {
  const written = new Map<string, Uint8Array | { readonly message: string }>()
  for (const [form, servers] of servedFiles(document))
    await write(form, servers).then(
      (text) => written.set(writtenName(form, servers), pack(text)),
      // One form that cannot be written does not keep the server from serving the others.
      ({ message }: Error) => written.set(writtenName(form, servers), { message }),
    )
  return written
}

/** Lists the files that a server of a document may ask `write` for. */
export function servedFiles(document: object): readonly (readonly [FileForm, FileServers])[] {
  const older: FileForm[] = ['yaml30', 'json30', ...(isOpenApi32(document) ? ['yaml31' as const] : [])]
  const forms: FileForm[] = ['yaml', 'json', ...older]
  const elsewhere = hasRelativeServer(document) ? ['absolute' as const] : []
  return forms.flatMap((form) =>
    (['only', 'first', ...elsewhere] as const).map((servers) => [form, servers] as const),
  )
}

// The engine itself reads plain data only. A reader of an extension may return anything, so the plan is
// decoded and compared.
function proved(contract: ContractData, encode: () => Uint8Array): Uint8Array {
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
    return undefined // a reader returned a function or a symbol
  }
}
