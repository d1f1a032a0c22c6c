// Contracts whose functions are printed when they are compiled, and loaded as a module.

import type { Code, Contract } from '../index.js'
import { compileCode } from '../tools.js'

/** The module of a contract's code. */
export async function codeOf(contract: Contract): Promise<Code> {
  const text = compileCode(contract)
  return await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`)
}
