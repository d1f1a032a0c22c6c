// Reads contracts from their compiled plans.

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
 * Reads a contract from its plan, and proves that it equals the contract read from its files.
 * @param readers of the extensions that `read` supports
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

// A plan lacks the text, and adds the functions of the schemas.
function dataOf({ locate: _, write: __, functions: ___, ...data }: Contract): object {
  const { text: ____, named: _____, ...kept } = data as typeof data & Partial<ReadContract>
  return kept
}

// Counts the places of a value that hold an object seen before.
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
