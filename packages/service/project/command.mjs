// The command `contract-service`: runs a tool, or builds the project and runs one of its programs.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './digests.mjs'

const { buildProject } = createRequire(import.meta.url)('./build.cjs')

const usage = `Usage: contract-service <command> [arguments]

  create DOCUMENT  writes a folder with a service of an OpenAPI document
  generate         writes generated/ from openapi.yaml, and a stub for each new operation
  dev              runs the service, and follows edits
  build            compiles the project, and bundles its programs in dist/service
  keys             creates, lists and revokes API keys
  migrate          applies the migrations
  fuzz             tests the service with requests that are made from its contract
  upgrade          moves the data of the embedded PostgreSQL to the installed major version

contract-service <command> --help describes each. All but create run in the project of the working folder, which
has dist/service/main.js for production.

Exit codes: 0 done, 1 failed, 2 wrong usage.
`

const bundled = ['generate', 'dev', 'fuzz', 'upgrade']
const programs = ['keys', 'migrate']

async function main([name, ...args]) {
  if (name === 'create') return run('../dist/tools/create/main.js', args)
  if (name === '--help' || name === '-h') return process.stdout.write(usage)
  const isKnown = name === 'build' || bundled.includes(name) || programs.includes(name)
  if (!isKnown) return fail(2, usage)
  if (!['openapi.yaml', 'generated/openapi.yaml'].some((file) => existsSync(path.join(root, file))))
    return fail(1, `${root} has no openapi.yaml: run contract-service in the folder of a service.\n`)
  if (bundled.includes(name)) return import('./run.mjs')
  process.chdir(root)
  process.exitCode = await buildProject(root)
  if (process.exitCode !== 0 || name === 'build') return undefined
  return run(pathToFileURL(path.join(root, `dist/service/commands/${name}.js`)), args)
}

async function run(module, args) {
  process.argv = [process.execPath, process.argv[1], ...args]
  await import(module)
}

function fail(code, text) {
  process.stderr.write(text)
  process.exitCode = code
}

await main(process.argv.slice(2))
