#!/usr/bin/env node
// Writes the plan of a contract, unless it is up to date: `compile.js [CONTRACT [PLAN]]`, by default the
// project's own. The build runs it. It is no command for operators: their help would load more than it needs.

import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { compileContract, isCurrent } from 'contract-engine/compile'
import { explain, OperatorError } from '../lib/operator-error.js'
import { contractFile, planFile } from '../lib/paths.js'

async function compile(file: string, plan: string): Promise<void> {
  const readersVersion = digestOf(await readFile(new URL('../auth/plans.js', import.meta.url)))
  const present = await readFile(plan).catch(() => Buffer.of())
  if (await isCurrent(present, file, { readersVersion })) return
  const { operationExtensions, serviceExtensions } = await import('../auth/plans.js') // loads the engine
  const readers = { readers: serviceExtensions, operationReaders: operationExtensions, readersVersion }
  await replace(plan, await compileContract(file, readers))
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url')
}

// Replaces the file in one step, because a server may be reading it.
async function replace(file: string, content: Uint8Array): Promise<void> {
  const written = `${file}.${process.pid}`
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(written, content).catch(({ message }: Error) => {
    throw new OperatorError(`the plan cannot be written: ${message}`)
  })
  await rename(written, file)
}

const [file = contractFile, plan = planFile] = process.argv.slice(2)
compile(file, plan).catch((error) => {
  process.stderr.write(`${explain(error)}\n`)
  process.exitCode = 1
})
