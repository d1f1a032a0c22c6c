// The files of a contract -> its plan: reads and checks it as `readContract` does, once for all starts. Each
// start would otherwise read it, for seconds where it has 160 operations, and hold what reads it.

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
      // No reason not to serve the rest.
      ({ message }: Error) => written.set(writtenName(form, servers), { message }),
    )
  return written
}

/** What a server of a document may ask `write` for. */
export function servedFiles(document: object): readonly (readonly [FileForm, FileServers])[] {
  const older: FileForm[] = ['yaml30', 'json30', ...(isOpenApi32(document) ? ['yaml31' as const] : [])]
  const forms: FileForm[] = ['yaml', 'json', ...older]
  const elsewhere = hasRelativeServer(document) ? ['absolute' as const] : []
  return forms.flatMap((form) =>
    (['only', 'first', ...elsewhere] as const).map((servers) => [form, servers] as const),
  )
}

// What the engine reads is plain data. What readers of extensions make may be anything.
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
    return undefined // a function, or a symbol
  }
}
