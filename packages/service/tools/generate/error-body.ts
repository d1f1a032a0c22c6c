// Reads the project's own error body from src/errors.ts. Its code is run, because only that shows the result.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { ErrorBodyOf } from 'contract-engine'

const require = createRequire(import.meta.url)

/**
 * Returns the `errorBody` that src/errors.ts exports; undefined without the file. @throws {Error} if its code
 * throws
 */
export function readErrorBody(root: string): ErrorBodyOf | undefined {
  const file = path.join(root, 'src/errors.ts')
  if (!existsSync(file)) return undefined
  const { buildSync }: typeof import('esbuild') = require('esbuild')
  const options = { bundle: true, format: 'cjs', platform: 'node', packages: 'external' } as const
  const { outputFiles } = buildSync({ entryPoints: [file], ...options, write: false, logLevel: 'error' })
  const module: { exports: { errorBody?: ErrorBodyOf } } = { exports: {} }
  const run = new Function('module', 'require', outputFiles[0]?.text ?? '')
  run(module, createRequire(file))
  return module.exports.errorBody
}
