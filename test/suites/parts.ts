// One process for many files saves a second of CPU for each.

import { runFolders } from '../fixtures/run-folders.js'

await runFolders(['database/driver', 'telemetry', 'rate-limit'])
