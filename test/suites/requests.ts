// One process for many files saves a second of CPU for each.

import { runFolders } from '../fixtures/run-folders.js'

// pipelining.ts starts a service as it is loaded: it would meet the clocks and functions of node:fs that tests of
// other files replace.
await runFolders(['handlers', 'auth', 'middleware', 'http'], ['pipelining.ts'])
