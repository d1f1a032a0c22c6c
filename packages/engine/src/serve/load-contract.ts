// A plan -> Contract, for serving: without what reads contracts, which is loaded only to say where in the
// files a problem is that was found when the contract was mounted. It refuses a plan of another contract or
// engine: the server would otherwise serve an edited contract as it was before.

import path from 'node:path'
import type { Contract } from '../document/contract.js'
import { ContractError } from '../document/contract-error.js'
import { defaultLimits } from '../document/defaults.js'
import { engineVersion } from '../document/engine-version.js'
import type { ExtensionReaders, ReadBy } from '../document/extension-readers.js'
import { filesOf, type ReadText } from '../document/file-text.js'
import { methodFault, problemOf } from '../document/methods.js'
import {
  decodePlan,
  digestOf,
  nameIn,
  type PlanBody,
  type PlanHead,
  pathOf,
  unpack,
  writtenName,
} from '../plan/plan.js'
import { codeIn, loadFunctions } from './code/load.js'

export interface LoadOptions {
  /** Replaces reading files from the folder of the contract: see `filesOf`. */
  readonly readText?: ReadText
  /** What to do about a refused plan, as the error says it: `Run: npm run build`. */
  readonly advice?: string
}

/**
 * Loads the contract of a plan.
 * @param file the contract; its text must be the text from which the plan was made
 * @throws {ContractError} if the plan is of another contract or by another engine; the message ends with the
 * advice
 */
export async function loadContract<Readers extends ExtensionReaders = Readonly<Record<never, never>>>(
  plan: Uint8Array,
  file: string,
  {
    readText = filesOf(file),
    advice = `Compile it again: npx contract-engine compile ${shown(file)}`,
  }: LoadOptions = {},
): Promise<Contract & { readonly extensions: ReadBy<Readers> }> {
  const { head, body } = decodePlan(plan) ?? {}
  const reason = await refusalOf(head, file, readText)
  if (body === undefined || reason !== undefined)
    throw new ContractError(`the plan of ${shown(file)} cannot be used: ${reason}. ${advice}`)
  const { contract, leftOpen } = body
  const limits = {
    ...contract.limits,
    ...(leftOpen.url && { url: defaultLimits.urlBytes }),
    ...(leftOpen.header && { header: defaultLimits.headerBytes }),
  }
  const code = codeIn(Buffer.from(body.code).toString())
  const functions = () => loadFunctions(code)
  const loaded = { ...contract, limits, functions, ...textsOf(body, file) }
  await checkMethods(loaded)
  return loaded as Contract & { readonly extensions: ReadBy<Readers> } // with the plan's readers
}

function textsOf(body: PlanBody, file: string): Pick<Contract, 'locate' | 'write'> {
  // Copied, because these are views that would keep the whole plan in memory.
  const texts = new Map([...body.texts].map(([name, each]) => [name, Buffer.from(each)]))
  const written = new Map(
    [...body.written].map(([name, each]) => [name, 'message' in each ? each : Buffer.from(each)]),
  )
  const readText: ReadText = async (name) => unpackedText(texts.get(nameIn(file, name)))
  return {
    locate: async (problems) => {
      const { locateProblems } = await import('../compile/read.js')
      return locateProblems(problems, file, readText)
    },
    write: async (form, servers) => {
      const name = writtenName(form, servers)
      const found = written.get(name) ?? { message: `the plan has no file ${name}` }
      if ('message' in found) throw new Error(found.message)
      return unpack(found)
    },
  }
}

// Rejects for a file that did not exist at the build: a `$ref` to such a file is in an example, and so is
// data.
async function unpackedText(packed: Uint8Array = Buffer.of()): Promise<string> {
  return unpack(packed)
}

// The Node that serves may be older than the Node that built the plan, and support fewer methods.
async function checkMethods({ operations, locate }: Contract): Promise<void> {
  const problems = [...operations.values()].flatMap((operation) => {
    const text = methodFault(operation.method)
    return text === undefined ? [] : problemOf(operation, `${operation.method} ${operation.path}: ${text}`)
  })
  if (problems.length > 0) throw new ContractError(problems, await locate(problems))
}

/**
 * True if compiling the contract would make the same plan.
 * @param readersVersion the version of the readers of extensions
 */
export async function isCurrent(
  plan: Uint8Array,
  file: string,
  { readText = filesOf(file), readersVersion = '' }: { readText?: ReadText; readersVersion?: string } = {},
): Promise<boolean> {
  const { head } = decodePlan(plan) ?? {}
  return head?.readers === readersVersion && (await refusalOf(head, file, readText)) === undefined
}

async function refusalOf(
  head: PlanHead | undefined,
  file: string,
  readText: ReadText,
): Promise<string | undefined> {
  if (head === undefined) return 'it is damaged, or of another form'
  if (head.engine !== engineVersion()) return 'another version of the engine made it'
  const own = nameIn(file, file)
  if (!Object.hasOwn(head.files, own)) return `it is of ${Object.keys(head.files)[0]}`
  for (const [name, digest] of Object.entries(head.files)) {
    const place = pathOf(file, name)
    const text = await readText(place).catch(() => undefined)
    if (text === undefined) return `${shown(place)} cannot be read`
    if (digestOf(text) !== digest) return `${shown(place)} has changed since`
  }
  return undefined
}

function shown(file: string): string {
  return path.relative('', file)
}
