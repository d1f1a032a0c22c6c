// generated/handlers.ts, the map of all handlers, which does not compile if a module is missing; and the stub of a new handler.

import type { Contract, Operation } from '../../src/openapi/index.js'
import { header } from './header.js'

/** The folder of the handlers, one module per operationId, and of their type. */
export const handlersFolder = 'src/handlers'

/** Whether a file in that folder is a handler. */
export function isHandlerFile(name: string): boolean {
  return name.endsWith('.ts') && name !== 'handler.ts'
}

/** The text of generated/handlers.ts. */
export function generateHandlers({ operations }: Contract): string {
  const names = [...operations.values()].map(({ name }) => name).sort()
  const imports = names.map((name) => `import { ${name} } from '../${handlersFolder}/${name}.js'\n`)
  return `${header}import type { Handlers } from '../${handlersFolder}/handler.js'
${imports.join('')}
/** The handler of every operation, by the name of its operation. */
export const handlers: Handlers = { ${names.join(', ')} }
`
}

/** Whether a module is still a stub. */
export function isStubText(text: string): boolean {
  return /^export const [\w$]+: Handler<'[^']+'> = notImplemented\(/m.test(text)
}

/** The text of a new handler. */
export function generateStub({ name, method, path, summary }: Operation): string {
  const title = (summary ?? `${method} ${path}`).replaceAll('*/', '').replace(/\s+/g, ' ').replace(/\.$/, '')
  return `import { type Handler, notImplemented } from './handler.js'

/** ${title}. */
export const ${name}: Handler<'${name}'> = notImplemented('${name}')
`
}
