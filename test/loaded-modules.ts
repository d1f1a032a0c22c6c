// A running service loads no module that reads a contract or compiles a schema, because its build has done
// both.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { startProcess, temporaryDirectory } from 'contract-service/fixtures/process'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t from 'tap'
import { prefix } from './fixtures/facts.js'
import { send } from './fixtures/service.js'

t.test(
  'a service that has served requests has loaded nothing that reads contracts or compiles schemas',
  async (t) => {
    const directory = await temporaryDirectory(t)
    const MODULES_FILE = path.join(directory, 'modules')
    const hooks = pathToFileURL(path.join(projectRoot, 'test/fixtures/record-modules.mjs')).href
    const env = { DATA_DIR: directory, MODULES_FILE, NODE_OPTIONS: `--import ${hooks}` }
    const { base } = await startProcess(t, env)
    const origin = new URL(base).origin
    for (const file of ['/openapi.yaml', '/openapi.json', '/openapi-3.0.yaml'])
      t.match(await send(origin + file, 'GET', {}), { status: 200 })
    t.match(await send(`${origin}${prefix}/pets`, 'GET', {}), { status: 401 })
    const loaded = readFileSync(MODULES_FILE, 'utf8').split('\n').flatMap(sourcesOf)
    t.ok(loaded.some((file) => file.endsWith('/engine/src/serve/load-contract.ts')))
    t.strictSame(
      loaded.filter((file) => file.includes('/engine/src/compile/')),
      [],
    )
    t.notOk(
      loaded.find((file) => /\/auth\/(jwt-check|verify-token|issuer)\./.test(file)),
      'of tokens, which the animals have not',
    )
    for (const name of [
      ...['yaml', '@apidevtools/json-schema-ref-parser', '@seriousme/openapi-schema-validator'],
      ...['ajv/dist/compile', 'ajv/dist/vocabularies', '@fastify/ajv-compiler'], // of schemas
      ...['jose', 'papaparse'],
      ...['fast-json-stringify/index.js', '@fastify/fast-json-stringify-compiler', 'light-my-request'],
    ])
      t.notOk(
        loaded.find((file) => `${file}/`.includes(`/node_modules/${name}/`)),
        name,
      )
  },
)

// Returns the sources of a module. Those of the bundle have a map that names them.
function sourcesOf(url: string): string[] {
  if (!url.includes('/dist/service/')) return [url]
  const map = readFileSync(`${fileURLToPath(url)}.map`, 'utf8')
  return (JSON.parse(map) as { readonly sources: string[] }).sources
}
