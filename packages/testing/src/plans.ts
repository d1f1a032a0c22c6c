// Contracts by way of their plans.

import { isDeepStrictEqual } from 'node:util'
import type { Contract, loadContract } from 'contract-engine'
import { compileContract, type ReadContract } from 'contract-engine/compile'
import { servedFiles } from 'contract-engine/tools'
import type { Test } from 'tap'

type Read<Result> = (file: string, readText?: (file: string) => Promise<string>) => Promise<Result>
type Load<Result> = (
  plan: Uint8Array,
  file: string,
  options?: Parameters<typeof loadContract>[2],
) => Promise<Result>

/**
 * Reads a contract by way of its plan, and proves that it is the one of its files.
 * @param readers those of extensions that `read` has
 */
export function loadingProved<Result extends Contract>(
  t: Test,
  read: Read<Result>,
  load: Load<Result>,
  readers: Omit<NonNullable<Parameters<typeof compileContract>[1]>, 'readText'> = {},
): Read<Result> {
  return async (file, readText) => {
    const own = readText && { readText }
    const loaded = await load(await compileContract(file, { ...own, ...readers }), file, own)
    const written = await read(file, readText)
    t.ok(isDeepStrictEqual(dataOf(loaded), dataOf(written)), 'the contract of the files')
    t.same(sharedIn(dataOf(loaded)), sharedIn(dataOf(written)), 'what is one object in several places')
    for (const [form, servers] of servedFiles(written.document))
      t.equal(await loaded.write(form, servers), await written.write(form, servers), `${form}, ${servers}`)
    return loaded
  }
}

// A plan leaves out the text, and has the functions of the schemas.
function dataOf({ locate: _, write: __, functions: ___, ...data }: Contract): object {
  const { text: ____, named: _____, ...kept } = data as typeof data & Partial<ReadContract>
  return kept
}

// How many places of a value are objects that stand in others, too.
function sharedIn(value: object): number {
  const seen = new Set<unknown>()
  let shared = 0
  const pending: unknown[] = [value]
  for (const each of pending) {
    if (typeof each !== 'object' || each === null) continue
    if (seen.has(each)) shared++
    else pending.push(...(each instanceof Map ? each.values() : Object.values(each)))
    seen.add(each)
  }
  return shared
}
