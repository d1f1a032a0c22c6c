// The hook sees what is loaded after it is registered: the engine and the service, which trace.ts imports,
// too.

import { register } from 'node:module'

declare global {
  /** Called by each function of the service (`hooks.mjs`). */
  var entered: (module: string, name: string) => void
}

globalThis.entered = () => {}
register('./hooks.mjs', import.meta.url)
await import('./trace.js')
