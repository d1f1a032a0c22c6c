// Lints a document in a separate process: a large document in parallel to reading it, which takes as long; a
// document with long chains of references on a larger stack.

import { ContractError } from 'contract-engine'
import { type LintResult, lintFile } from './lint.js'

/** The findings of the lint, or the reason why the document is not a contract. */
export type LintMessage = LintResult | { readonly refusal: string }

async function lint(file: string): Promise<LintMessage> {
  try {
    return await lintFile(file)
  } catch (error) {
    if (error instanceof RangeError) return { refusal: `${file}: it has too long chains of references` }
    if (!(error instanceof ContractError)) throw error
    return { refusal: error.message }
  }
}

const [, , file = ''] = process.argv
lint(file).then((message) => process.send?.(message))
