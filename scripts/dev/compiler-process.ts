// Run by compiler.ts.

import { projectRoot } from '../../src/paths.js'
import { createTypeChecker } from './types.js'

const check = createTypeChecker(projectRoot)
process.on('message', () => process.send?.(check()))
process.on('disconnect', () => process.exit())
