// Installs packages of this repository like a project that lacks an optional package.

import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'

const modules = path.join(fileURLToPath(import.meta.resolve('tap/package.json')), '../..')

/** Runs a program in a folder without one package. @returns the program's output */
export async function runWithout(t: Test, missing: string, program: string): Promise<string> {
  const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'without-')))
  t.teardown(() => rmSync(folder, { recursive: true }))
  mkdirSync(path.join(folder, 'node_modules'))
  writeFileSync(path.join(folder, 'package.json'), '{}')
  for (const name of readdirSync(modules))
    if (name !== missing) symlinkSync(path.join(modules, name), path.join(folder, 'node_modules', name))
  for (const name of own) copy(path.join(modules, name), path.join(folder, 'node_modules', name))
  const options = { cwd: folder, env: { PATH: process.env.PATH } }
  const args = ['--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, args, options)
  return stdout.trim()
}

// These are copied: through a link, Node would find the packages beside the link's target.
const own = ['contract-engine', 'contract-service', 'contract-testing']

function copy(from: string, to: string): void {
  rmSync(to)
  for (const part of ['package.json', 'dist/src'])
    cpSync(path.join(from, part), path.join(to, part), { recursive: true })
}
