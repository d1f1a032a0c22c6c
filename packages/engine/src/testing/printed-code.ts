// Contracts whose functions are printed when they are compiled, and loaded as a module.

import type { Code } from '../index.js'
import { compileCode } from '../tools.js'

/** The module of a contract's code. */
export async function codeOf(contract: Parameters<typeof compileCode>[0]): Promise<Code> {
  const text = compileCode(contract)
  return await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`)
}
