// Unchanged documents that were not written for this server: those beside the fixtures, and any in the folder
// that DOCUMENTS names. generate accepts each, and the server serves every operation as a stub.

import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { findDifferences } from 'contract-service/tools/generate/differences'
import { buildServer } from 'contract-service/tools/lib/server'
import { startEngine } from 'contract-testing/engine'
import t, { type Test } from 'tap'

const folders = [path.join(projectRoot, 'test/fixtures/documents'), process.env.DOCUMENTS ?? '']

function projectOf(t: Test, write: (file: string) => void): string {
  const folder = temporaryDirectory(t)
  mkdirSync(path.join(folder, 'src/handlers'), { recursive: true })
  write(path.join(folder, 'openapi.yaml'))
  return folder
}

// Builds a server without a check for any scheme.
const buildUnchecked = (...[contract, handlerOf, log]: Parameters<typeof buildServer>) =>
  buildServer(contract, handlerOf, log, { listed: new Map() })

const headers = { authorization: 'Bearer key' }

for (const folder of folders.filter((each) => each !== '')) {
  for (const name of readdirSync(folder).filter((each) => /\.(?:json|ya?ml)$/.test(each))) {
    t.test(`${name} is served`, async (t) => {
      const project = projectOf(t, (file) => copyFileSync(path.join(folder, name), file))
      const { contract } = await findDifferences(project, true)
      const { call } = await startEngine(t, contract, {}, buildUnchecked)
      for (const { method, path, id } of contract.operations.values()) {
        const { status, body } = await call(method, path.replace(/\{[^}]*\}/g, '1'), { headers })
        t.match(
          { status, body },
          { status: 501, ...(method !== 'HEAD' && { body: { code: 'not_implemented' } }) },
          id,
        )
      }
    })
  }
}

const start = `openapi: 3.0.3
info: { title: Odd, version: 1.0.0 }
externalDocs: { url: 'https://odd.example', description: null }
paths:
  /things:
    get:
      operationId: listThings
      x-doc: { $ref: ./missing.md }
      responses:
        '200':
          description: Things.
          content:
            application/json:
              schema: { $ref: '#/components/schemas/constructor' }
              example: 3
          links:
            next: { operationId: listThings, parameters: { page: 2 } }
components:
  parameters:
    unused: { name: X-Unused, in: header, allowEmptyValue: true, schema: { type: string } }
  schemas:
    constructor:
      type: object
      properties:
        constructor: { type: string }
        valueOf: { nullable: true }
        kind: { type: string }
      discriminator: { propertyName: kind, mapping: { dog: Dog } }
    Dog: { allOf: [{ $ref: '#/components/schemas/constructor' }], example: { allOf: [{ $ref: '#/definitions/base' }] } }
`

t.test('documentation mistakes and unusual names do not stop generate', async (t) => {
  const other = `  /others: { get: { operationId: constructor, responses: { '204': { description: None. } } } }\ncomponents:`
  const project = projectOf(t, (file) => writeFileSync(file, start.replace('components:', other)))
  const { contract, warnings, differences } = await findDifferences(project)
  t.match(warnings.join('\n'), /openapi\.yaml:14:\d+ warning Example /)
  t.match(differences.find(({ file }) => file === 'generated/types.ts')?.content, /\bvalueOf\b/)
  t.strictSame(
    [...contract.operations.values()].map(({ name }) => name),
    ['listThings', 'constructorOperation'],
  )
  const { call } = await startEngine(t, contract, {})
  t.match(await call('GET', '/things', { headers }), { status: 501 })
})

t.test('an itemSchema is linted in each version', async (t) => {
  for (const version of ['3.0.3', '3.1.0', '3.2.0']) {
    const text = (type: string) => `openapi: ${version}
info: { title: Feed, version: 1.0.0 }
paths:
  /feed:
    get:
      operationId: feed
      responses:
        '200': { description: All., content: { application/jsonl: { itemSchema: { $ref: '#/components/schemas/Item' } } } }
        4XX: { description: An error., content: { application/json: { schema: { type: object } } } }
components: { schemas: { Item: { ${type}: object } } }
`
    const { warnings } = await findDifferences(projectOf(t, (file) => writeFileSync(file, text('type'))))
    t.notMatch(warnings.join('\n'), /is not expected here|is never used/, version)
    const isOlder = version !== '3.2.0'
    t.equal(warnings.filter((line) => line.includes('itemSchema')).length, isOlder ? 1 : 0, version)
    const refused = findDifferences(projectOf(t, (file) => writeFileSync(file, text('typ'))))
    await t.rejects(refused, { message: /openapi\.yaml:10:\d+ error .*`typ` is not expected here/ }, version)
  }
})

t.test('a large document is linted first, without its examples', async (t) => {
  const padding = `  x-padding: ${'x'.repeat(2_000_000)}\n`
  const large = start.replace('paths:', `tags: []\n${padding.trimStart()}paths:`)
  const { warnings } = await findDifferences(projectOf(t, (file) => writeFileSync(file, large)))
  t.match(warnings.join('\n'), /openapi\.yaml:\d+:\d+ warning /)
  t.notMatch(warnings.join('\n'), /warning Example /)
  const misspelt = large
    .replace('valueOf: { nullable: true }', 'valueOf: { typ: string }')
    .replace('{ operationId: listThings', '{ operationId: 1')
  const refused = findDifferences(projectOf(t, (file) => writeFileSync(file, misspelt)))
  await t.rejects(refused, { message: /^[^\n]*openapi\.yaml:\d+:\d+ error .*`typ` is not expected here/m })
  const swagger = `swagger: "2.0"\n${padding.trimStart()}`
  const none = findDifferences(projectOf(t, (file) => writeFileSync(file, swagger)))
  await t.rejects(none, { message: /^[^\n]*Swagger 2\.0 is not supported/ })
})

// If every path through the schemas were followed, the last schema would be read 2^40 times.
t.test('a schema with many references is read once', async (t) => {
  const chain = Array.from({ length: 40 }, (_, i) => {
    const next = `{ $ref: '#/components/schemas/S${i + 1}' }`
    return `    S${i}: { type: object, properties: { a: ${next}, b: ${next} } }\n`
  })
  const inherited = Array.from({ length: 40 }, (_, i) => {
    const next = `{ $ref: '#/components/schemas/T${i + 1}' }`
    return `    T${i}: { allOf: [${next}, ${next}] }\n`
  })
  const lasts = `    S40: { type: string }
    T40: { type: object, properties: { id: { type: string, readOnly: true } } }
`
  const text = `${start}${chain.join('')}${inherited.join('')}${lasts}`
    .replace("schemas/constructor' }", "schemas/S0' }")
    .replace(
      '    get:',
      (get) => `    put:
      operationId: putThing
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/S0' } } } }
      responses: { '204': { description: Put. } }
    patch:
      operationId: patchThing
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/T0' } } } }
      responses: { '204': { description: Patched. } }
${get}`,
    )
  const project = projectOf(t, (file) => writeFileSync(file, text))
  const { contract } = await findDifferences(project)
  const deep = `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`
  const { call } = await startEngine(t, contract, {
    listThings: async () => ({ status: 200, body: JSON.parse(deep) }),
    putThing: async () => ({ status: 204 }),
    patchThing: async () => ({ status: 204 }),
  })
  const put = await call('PUT', '/things', { headers, body: deep })
  t.match(put, { status: 400, body: { message: `body${'.a'.repeat(40)} must be a string` } })
  const { status } = await call('GET', '/things', { headers })
  t.equal(status, 500, 'a number where the last wants a string')
})

t.test('what is not a contract is refused in one line', async (t) => {
  const refused: [text: string, line: RegExp][] = [
    [
      'swagger: "2.0"\ninfo: { title: Old, version: 1.0.0 }\npaths: {}\n',
      /^[^\n]*Swagger 2\.0 is not supported: convert it/,
    ],
    ['{"name":"x"}', /^[^\n]*this is not an OpenAPI document: it has no field openapi$/],
    ['openapi: 4.0.0\n', /^[^\n]*openapi must be 3\.0\.x, 3\.1\.x or 3\.2\.x, such as 3\.1\.0, not 4\.0\.0$/],
    ['', /^[^\n]*this is not an OpenAPI document: it has no field openapi$/],
    ['openapi: 3.1.0\ninfo: !of { a: b }\n', /^[^\n]*openapi\.yaml:2:\d+: Unresolved tag: !of$/],
    [
      'openapi: 3.1.0\ninfo: &a { b: *a }\n',
      /^[^\n]*openapi\.yaml:2:15: \*a is an alias within its own anchor &a$/,
    ],
    ['a: [b', /^[^\n]*openapi\.yaml:\d+:\d+: [^\n]*$/],
  ]
  for (const [text, line] of refused) {
    await t.rejects(findDifferences(projectOf(t, (file) => writeFileSync(file, text))), { message: line })
  }
})
