// The types of recursive schemas, as the compiler checks them.

import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { generateOperations, generateTypes } from 'contract-engine/generate'
import { temporaryDirectory } from 'contract-testing/directory'
import { contractOf } from 'contract-testing/engine'
import { Random } from 'contract-testing/random-schemas'
import t from 'tap'
import { typeErrors } from '../fixtures/compile-types.js'
import { type RecursiveDocument, recursiveDocument, type Traits } from '../fixtures/recursive-schemas.js'

const random = new Random(Number(process.env.SEED ?? 1))
const rounds = Number(process.env.ROUNDS ?? 4)

const traits = [[], ['readOnly'], ['writeOnly'], ['default'], ['readOnly', 'writeOnly', 'default']].flatMap(
  (marks): Traits[] =>
    (marks.length === 0 ? [true] : [true, false]).map((areWithin) => ({ marks, areWithin })),
)

/** Writes the types of a document, and a module that uses them. Returns the module's name. */
async function write(folder: string, name: string, document: object, use: string): Promise<string> {
  const contract = await contractOf(document)
  const types = generateTypes(contract)
  const operations = generateOperations(contract, types).replace('./types.js', `./${name}-types.js`)
  const imports = `import type { Operations } from './${name}-operations.js'`
  writeFileSync(path.join(folder, `${name}-types.ts`), types)
  writeFileSync(path.join(folder, `${name}-operations.ts`), operations)
  writeFileSync(path.join(folder, `${name}.ts`), `${imports}\n${use}`)
  return `${name}.ts`
}

// Uses a value of each depth, an invalid one, and a handler.
function useOf(made: RecursiveDocument, { marks, areWithin }: Traits): string {
  const isSame = !areWithin || marks.every((mark) => mark === 'default')
  const lines = made.names.flatMap((name, i) => [
    ...valuesOf(made, name, 'request', `Operations['send${i}']['request']['body']`),
    ...valuesOf(made, name, 'response', `Operations['send${i}']['response']['body']`),
    `export async function send${i}({ body }: Operations['send${i}']['request']): Promise<unknown> {`,
    ...(isSame ? [`  const response: Operations['send${i}']['response'] = { status: 200, body }`] : []),
    `  return ${isSame ? 'response' : 'body'}`,
    '}',
  ])
  return `declare const wrong: { readonly wrong: symbol }\n${lines.join('\n')}\n`
}

function valuesOf(
  made: RecursiveDocument,
  name: string,
  side: 'request' | 'response',
  type: string,
): string[] {
  const depths = [0, 1, 2].map((depth) => `{ const value: ${type} = ${made.literal(name, side, depth)} }`)
  const leaves = made.leavesOf(name, side, 1)
  if (leaves === 0) return depths
  const wrong = made.literal(name, side, 1, random.below(leaves))
  return [...depths, '// @ts-expect-error: a leaf of another type', `{ const value: ${type} = ${wrong} }`]
}

t.test('schemas that refer to themselves have types that compile, and take their values alone', async (t) => {
  const folder = temporaryDirectory(t, { 'package.json': '{ "type": "module" }' })
  const files: string[] = []
  for (let round = 0; round < rounds; round++)
    for (const [i, each] of traits.entries()) {
      const made = recursiveDocument(random, each)
      files.push(await write(folder, `r${round}-${i}`, made.document, useOf(made, each)))
    }
  t.strictSame(typeErrors(folder, files), [])
})

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const listOf = (items: object) => ({ type: 'array', items })
const Marked = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'integer', readOnly: true }, secret: { type: 'string', writeOnly: true } },
}

// For each: its schemas, a valid request, and an invalid one.
const rows: [title: string, schemas: Record<string, object>, right: string, wrong: string][] = [
  [
    'a union with a list of itself, whose name a helper type has, beside a readOnly field',
    { E: { anyOf: [{ type: 'number' }, listOf(ref('E'))] }, Marked },
    '[1, [2, [3]]]',
    '[1, ["2"]]',
  ],
  [
    'the same, by a name that is none in TypeScript',
    { 'e-1': { anyOf: [{ type: 'number' }, listOf(ref('e-1'))] } },
    '[1, [2, [3]]]',
    '[1, ["2"]]',
  ],
  [
    'a list of itself with a readOnly field within',
    { E: { oneOf: [Marked, listOf(ref('E'))] } },
    '[[{ secret: "a" }]]',
    '[[{ id: 1, secret: "a" }]]',
  ],
  [
    'a tuple that has itself, with a readOnly field within',
    { E: { type: 'array', prefixItems: [ref('Marked'), ref('E')], minItems: 1, items: false }, Marked },
    '[{}, [{}, [{ secret: "a" }]]]',
    '[{}, [{}, [{ id: 1 }]]]',
  ],
  [
    'a tuple that ends with a union of lists of itself',
    {
      E: {
        type: 'array',
        prefixItems: [{ type: 'string' }],
        items: { anyOf: [{ type: 'boolean' }, listOf(ref('E'))] },
      },
    },
    '["a", true, [["b", [["c"]]]]]',
    '["a", true, [["b", [[true]]]]]',
  ],
  [
    'a field that what extends its base requires, and which has that',
    {
      Base: {
        type: 'object',
        required: ['kind'],
        properties: { kind: { type: 'string' }, all: listOf(ref('E')) },
        discriminator: { propertyName: 'kind' },
      },
      E: {
        allOf: [ref('Base'), { type: 'object', properties: { a: { type: 'integer' } } }],
        required: ['all'],
      },
    },
    '{ kind: "E", all: [{ kind: "E", all: [] }] }',
    '{ kind: "E", all: [{ kind: "E" }] }',
  ],
  [
    'a field whose items extend what it is a field of, and require it',
    { E: { type: 'object', properties: { all: listOf({ allOf: [ref('E'), { required: ['all'] }] }) } } },
    '{ all: [{ all: [] }] }',
    '{ all: [{}] }',
  ],
  [
    'a list of itself with a default within',
    {
      E: {
        anyOf: [
          {
            type: 'object',
            required: ['b'],
            properties: { a: { type: 'string', default: 'x' }, b: { type: 'boolean' } },
          },
          listOf(ref('E')),
        ],
      },
    },
    '[[{ a: "x", b: true }]]',
    '[[{ b: true }]]',
  ],
]

t.test('types of requests by their schemas', async (t) => {
  const folder = temporaryDirectory(t, { 'package.json': '{ "type": "module" }' })
  for (const [i, [, schemas, right, wrong]] of rows.entries()) {
    const name = Object.keys(schemas).find((each) => each.toLowerCase().startsWith('e')) as string
    const content = { 'application/json': { schema: ref(name) } }
    const post = {
      operationId: 'send',
      requestBody: { required: true, content },
      responses: { 204: { description: 'Done.' } },
    }
    const value = (literal: string) => `{ const value: Operations['send']['request']['body'] = ${literal} }\n`
    const use = `${value(right)}// @ts-expect-error: not a value of the schema\n${value(wrong)}export {}\n`
    await write(folder, `row${i}`, { paths: { '/e': { post } }, components: { schemas } }, use)
  }
  const found = typeErrors(
    folder,
    rows.map((_, i) => `row${i}.ts`),
  )
  for (const [i, [title]] of rows.entries())
    t.strictSame(
      found.filter((line) => line.startsWith(`row${i}`)),
      [],
      title,
    )
  t.equal(rows.length > 0 && found.length, 0)
})
