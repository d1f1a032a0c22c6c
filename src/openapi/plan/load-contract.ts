// A plan -> Contract, for serving: without what reads contracts, which is loaded only to say where in the
// files a problem is that was found when the contract was mounted.

import path from 'node:path'
import type { Contract } from '../contract/contract.js'
import { ContractError } from '../contract/contract-error.js'
import type { ExtensionReaders, ReadBy } from '../contract/extensions.js'
import { filesOf, type ReadText } from '../contract/file-text.js'
import { engineVersion } from './engine-version.js'
import { decodePlan, digestOf, nameIn, type PlanHead, pathOf } from './plan.js'

export interface LoadOptions {
  /** Replaces reading files from the folder of the contract: see `filesOf`. */
  readonly readText?: ReadText
  /** What to do about a plan that is refused: `Run: npm run build`. */
  readonly advice?: string
}

/**
 * The contract of a plan.
 * @param file the contract, whose text must be that of which the plan was made
 * @throws {ContractError} if the plan is of another contract or by another engine, with the advice
 */
export async function loadContract<Readers extends ExtensionReaders = Readonly<Record<never, never>>>(
  plan: Uint8Array,
  file: string,
  { readText = filesOf(file), advice = 'Compile it again.' }: LoadOptions = {},
): Promise<Contract & { readonly extensions: ReadBy<Readers> }> {
  const { head, body } = decodePlan(plan) ?? {}
  const reason = await refusalOf(head, file, readText)
  if (body === undefined || reason !== undefined)
    throw new ContractError(`the plan of ${shown(file)} cannot be used: ${reason}. ${advice}`)
  const { contract, texts, extensions } = body
  const locate: Contract['locate'] = async (problems) => {
    const { locateProblems } = await import('../contract/read.js')
    return locateProblems(problems, file, async (name) => textIn(texts, nameIn(file, name)), extensions)
  }
  return { ...contract, locate } as Contract & { readonly extensions: ReadBy<Readers> } // by the same readers
}

/**
 * Whether compiling a contract would make the same plan.
 * @param readersVersion that of the readers of extensions
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
  for (const [name, digest] of Object.entries(head.files)) {
    const place = pathOf(file, name)
    const text = await readText(place).catch(() => '')
    if (digestOf(text) !== digest) return `${shown(place)} has changed since`
  }
  return undefined
}

function textIn(texts: ReadonlyMap<string, string>, name: string): string {
  const text = texts.get(name)
  if (text === undefined) throw new Error(`${name} was not there`) // a `$ref` in an example, which is data
  return text
}

function shown(file: string): string {
  return path.relative('', file)
}
