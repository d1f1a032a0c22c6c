// Registers the hook before it imports trace.ts: the hook sees only modules that are loaded later, here the
// engine and the service.

import module from 'node:module'
import { loadSync } from './hooks.js'

declare global {
  /** Each function of the service calls it (`hooks.ts`). */
  var entered: (module: string, name: string) => void
}

globalThis.entered = () => {}
const { registerHooks } = module as { registerHooks?: (hooks: { load: typeof loadSync }) => void } // Node 20 lacks it
if (registerHooks === undefined) module.register('./hooks.js', import.meta.url)
else registerHooks({ load: loadSync })
await import('./trace.js')
