// Writes generated/handlers.ts, the map of all handlers, and the stub of a new handler. The map does not
// compile if a module is missing.

import type { Contract, Operation } from 'contract-engine'
import { header } from './header.js'

/** The folder of the handlers, one module per operationId, and of their type. */
export const handlersFolder = 'src/handlers'

/** True if a file in that folder is a handler. */
export function isHandlerFile(name: string): boolean {
  return name.endsWith('.ts') && name !== 'handler.ts'
}

/** Returns the text of generated/handlers.ts. */
export function generateHandlers({ operations }: Contract): string {
  const names = [...operations.values()].map(({ name }) => name).sort()
  const imports = names.map((name) => `import { ${name} } from '../${handlersFolder}/${name}.js'\n`)
  return `${header}import type { Handlers } from '../${handlersFolder}/handler.js'
${imports.join('')}
/** The handler of every operation, by the name of its operation. Its type tells handlers from stubs. */
export const handlers = { ${names.join(', ')} } satisfies Handlers
`
}

/** True if a module is still a stub. */
export function isStubText(text: string): boolean {
  return /^export const \S+ = notImplemented\(/m.test(text)
}

/**
 * True if the handler of a module is a function that declares its responses. Only then does the compiler
 * refuse undeclared fields and headers.
 */
export function declaresResponses(text: string, name: string): boolean {
  const isFunction = new RegExp(`^export (async )?function ${name.replaceAll('$', '\\$&')}\\(`, 'm').test(
    text,
  )
  return isFunction && text.includes(`): Promise<Response<'${name}'>>`)
}

/** Returns the text of a new handler. */
export function generateStub({ name, method, path, summary }: Operation): string {
  const title = (summary ?? `${method} ${path}`).replaceAll('*/', '').replace(/\s+/g, ' ').replace(/\.$/, '')
  return `import { notImplemented } from './handler.js'

// To implement it, replace the constant by a function, with these types of './handler.js': export async
// function ${name}(request: Request<'${name}'>, context: Context<'${name}'>): Promise<Response<'${name}'>> {
// … }

/** ${title}. */
export const ${name} = notImplemented('${name}')
`
}
