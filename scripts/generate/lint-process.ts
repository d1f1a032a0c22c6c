// The lint of a large document, in a process of its own: it takes as long as what is done beside it.

import { ContractError } from '../../src/contract/contract-error.js'
import { type Findings, lintFile } from './lint.js'

/** What the process says: what the lint found, or why it is no contract. */
export type Said = Findings | { readonly refusal: string }

const [, , file = ''] = process.argv
const said: Said = await lintFile(file).catch((error) => {
  if (!(error instanceof ContractError)) throw error
  return { refusal: error.message }
})
process.send?.(said)
