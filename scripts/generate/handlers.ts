// The map of handlers, in which an operation whose module is missing does not compile, and the module that a new
// operation begins with.

import type { Contract, Operation } from '../../src/contract/document.js'
import { header } from './header.js'

/** Where handlers stand, one module per operationId, beside the type of them all. */
export const handlersFolder = 'src/handlers'

/** Whether a file of that folder is the handler of an operation. */
export function isHandlerFile(name: string): boolean {
  return name.endsWith('.ts') && name !== 'handler.ts'
}

/** The text of generated/handlers.ts. */
export function generateHandlers({ operations }: Contract): string {
  const ids = [...operations.keys()].sort()
  const imports = ids.map((id) => `import { ${id} } from '../${handlersFolder}/${id}.js'\n`)
  return `${header}import type { Handlers } from '../${handlersFolder}/handler.js'
${imports.join('')}
/** The handler of every operation, by operationId. */
export const handlers: Handlers = { ${ids.join(', ')} }
`
}

/** The text of a new handler. */
export function generateStub({ id, summary }: Operation): string {
  return `import { ApiError } from '../errors.js'
import type { Handler } from './handler.js'

/** ${(summary ?? id).replaceAll('*/', '')}. */
export const ${id}: Handler<'${id}'> = async () => {
  throw new ApiError('not_implemented', '${id} is not written yet.')
}
`
}
