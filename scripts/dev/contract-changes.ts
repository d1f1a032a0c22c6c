// What an edit changed in the contract, for those who call it.

import { readSource } from '../../src/contract/files.js'
import { diffContracts } from '../diff/contract.js'
import type { Node } from '../diff/node.js'
import { lineOf } from '../diff/report.js'

/** One line for each change between two files, as `npm run contract:diff` writes it. */
export async function contractChanges(before: string, after: string): Promise<string[]> {
  const [was, is] = await Promise.all([readSource(before), readSource(after)])
  return diffContracts(was.document as Node, is.document as Node).map(lineOf)
}
