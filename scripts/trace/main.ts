// The hook sees what is loaded after it is registered: the engine and the service, which trace.ts imports,
// too.

import module from 'node:module'
import { loadSync } from './hooks.js'

declare global {
  /** Called by each function of the service (`hooks.ts`). */
  var entered: (module: string, name: string) => void
}

globalThis.entered = () => {}
const { registerHooks } = module as { registerHooks?: (hooks: { load: typeof loadSync }) => void } // Node 20 lacks it
if (registerHooks === undefined) module.register('./hooks.js', import.meta.url)
else registerHooks({ load: loadSync })
await import('./trace.js')
