// Run by compiler.ts.

import { projectRoot } from '../../src/paths.js'
import { createTypeChecker } from './types.js'

const check = createTypeChecker(projectRoot)
// Whoever asked may have gone meanwhile, by Ctrl-C: that is no error.
process.on('message', () => process.send?.(check(), undefined, undefined, () => {}))
process.on('disconnect', () => process.exit())
