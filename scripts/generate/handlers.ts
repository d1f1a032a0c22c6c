// The map of handlers: an operation whose module is missing does not compile.

import type { Contract } from '../../src/contract/document.js'
import { header } from './header.js'

/** The text of generated/handlers.ts. */
export function generateHandlers({ operations }: Contract): string {
  const ids = [...operations.keys()].sort()
  const imports = ids.map((id) => `import { ${id} } from '../src/handlers/${id}.js'\n`)
  return `${header}import type { Handlers } from '../src/handlers/handler.js'
${imports.join('')}
/** The handler of every operation, by operationId. */
export const handlers: Handlers = { ${ids.join(', ')} }
`
}
