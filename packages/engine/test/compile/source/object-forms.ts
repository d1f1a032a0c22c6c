// The form of each field in a document: what the reader refuses, at which place, and what it accepts.

import path from 'node:path'
import t from 'tap'
import { readContract } from '../../../src/compile/read.js'

const head = 'openapi: 3.1.0\ninfo: { title: T, version: 1.0.0 }\n'
const of = (responses: string) =>
  `${head}paths: { /a: { get: { operationId: a, responses: ${responses} } } }\n`

const refused: [title: string, text: string, lines: string[]][] = [
  [
    'a server without url',
    `${head}servers: [{ description: A }]\npaths: {}\n`,
    ['3:11: servers.0 has no url'],
  ],
  [
    'servers that are no list',
    `${head}servers: { url: /v1 }\npaths: {}\n`,
    ['3:1: servers must be a list, not an object'],
  ],
  [
    'a server that is a text',
    `${head}servers: [http://a.example]\n`,
    ['3:11: servers.0 must be an object, not the text "http://a.example"'],
  ],
  [
    'security that is a text',
    `${head}security: key\n`,
    ['3:1: security must be a list of objects, such as [{ key: [] }], not the text "key"'],
  ],
  [
    'a parameter without name and place',
    `${head}components: { parameters: { A: {} } }\n`,
    ['3:29: components.parameters.A has no name and no in'],
  ],
  [
    'a flag in quotes',
    `${head}paths: { /a: { parameters: [{ name: a, in: query, required: "true" }] } }\n`,
    ['3:51: parameters.0.required must be true or false, not the text "true"'],
  ],
  [
    'a schema that is a text',
    `${head}components: { schemas: { A: string } }\n`,
    ['3:26: components.schemas.A must be a schema: an object, true or false, not the text "string"'],
  ],
  [
    'an enum that is a text',
    `${head}components: { schemas: { A: { enum: a } } }\n`,
    ['3:31: schemas.A.enum must be a list of values, not the text "a"'],
  ],
  ['a response that is a number', of('{ 200: 7 }'), ['3:52: get.responses.200 must be an object, not 7']],
  [
    'several',
    `${head}servers: 7\ntags: [7]\n`,
    ['3:1: servers must be a list, not 7', '4:8: tags.0 must be an object, not 7'],
  ],
  [
    'a $ref that is cut off by its #',
    `${head}components:\n  schemas:\n    A:\n      $ref: #/components/schemas/B\n`,
    [
      '6:7: schemas.A.$ref is null: give it a value, or remove it (what follows a blank and # is a comment: put it in quotes)',
    ],
  ],
  [
    'another version alone',
    "swagger: '2.0'\ninfo: 7\n",
    [
      '1:1: openapi must be 3.0.x, 3.1.x or 3.2.x, such as 3.1.0, and is missing: Swagger 2.0 has to be converted first',
    ],
  ],
]

// Reads files from memory.
const read = (files: Readonly<Record<string, string>>) =>
  readContract('openapi.yaml', async (file) => {
    return files[path.basename(file)] ?? Promise.reject(new Error(file))
  })

for (const [title, text, lines] of refused)
  t.test(`${title} is refused at its place`, async (t) => {
    const message = lines.map((line) => `openapi.yaml:${line}`).join('\n')
    await t.rejects(read({ 'openapi.yaml': text }), { name: 'ContractError', message })
  })

t.test('a file is named as it is written, whatever characters its path has', async (t) => {
  for (const text of [`${head}servers: 7\n`, `${head}servers: [\n`]) {
    const file = path.resolve('a b/100% é/openapi.yaml')
    const message = /^a b\/100% é\/openapi\.yaml:\d+:\d+: /
    await t.rejects(
      readContract(file, async () => text),
      { message },
    )
  }
})

const open: [title: string, text: string][] = [
  [
    'an example, a default, an enum, a const',
    '{ default: { type: 7, properties: [] }, enum: [7, { $ref: 7 }], const: { required: 7 }, example: { in: 7 }, examples: [null, { items: 7 }] }',
  ],
  ['an extension', '{ x-a: { properties: 7, $ref: [] }, x-b: null }'],
  ['an unknown keyword', '{ unit: 7, id: [], media: { type: 7 } }'],
  [
    'keywords of older drafts',
    '{ items: [{ type: string }], required: true, exclusiveMinimum: true, additionalItems: 7 }',
  ],
  ['what Ajv is to judge', '{ type: text, minLength: "1", maximum: a, allOf: [], enum: [] }'],
  [
    'what is there and empty',
    '{ title: , description: , format: , pattern: , deprecated: , minimum: , type: , externalDocs: , xml: 7 }',
  ],
  [
    'properties that are called like fields',
    '{ properties: { properties: { type: object }, $ref: { type: string }, enum: {}, type: true, required: false } }',
  ],
]

for (const [title, schema] of open)
  t.test(`${title} may be anything`, async () => {
    await read({ 'openapi.yaml': `${head}components: { schemas: { A: ${schema} } }\n` })
  })

t.test(
  'a version and values of variables may be numbers, and what describes a contract may be null',
  async (t) => {
    const contract = await read({
      'openapi.yaml': `openapi: 3.1.0
info: { title: T, version: 1.5, description: , contact: , license: }
servers: [{ url: 'http://a.example:{port}/v1', variables: { port: { default: 8080, enum: [8080] } } }]
tags: [{ name: 2024, description: }]
paths: {}
`,
    })
    t.match(contract, { version: '1.5', prefix: '/v1' })
    t.match(contract.warnings, [{ text: 'info.version is a number, and read as 1.5: write it in quotes' }])
  },
)

t.test('the parts of other files are judged as what refers to them, at their places there', async (t) => {
  const files = {
    'openapi.yaml': `openapi: 3.1.0
info: { $ref: info.yaml }
servers: { $ref: 'info.yaml#/x-servers' }
paths: { /a: { $ref: 'b.yaml#/item' } }
components: { schemas: { $ref: b.yaml#/schemas } }
`,
    'info.yaml': 'title: T\nversion: 1.0.0\nx-servers: [{ url: /v1 }]\n',
    'b.yaml': `item: { parameters: [{ name: a, in: 7 }] }
schemas: { A: { properties: { $ref: '#/names' }, example: 7 } }
names: { type: string, b: { type: object } }
`,
  }
  const lines = [
    '1:33: parameters.0.in must be a text, not 7',
    '3:10: names.type must be a schema: an object, true or false, not the text "string"',
  ]
  const message = lines.map((line) => `b.yaml:${line}`).join('\n')
  await t.rejects(read(files), { name: 'ContractError', message })
  const right = {
    ...files,
    'b.yaml': files['b.yaml'].replace('in: 7', 'in: query, schema: {}').replace('type: string,', ''),
  }
  t.match(await read(right), { title: 'T', prefix: '/v1' })
})

t.test('a field that is like another one is noted', async (t) => {
  const { warnings } = await read({
    'openapi.yaml': `${head}component: {}
paths: { /a: { GET: {}, get: { operationId: a, reponses: {}, responses: { 200: { description: A, headers: { reponses: {} } } } } } }
components: { schemas: { A: { minLenght: 1, example: { minLenght: 1 }, properties: { minLenght: {} } } } }
`,
  })
  t.strictSame(
    warnings.map(({ text }) => text).filter((text) => text.includes('did you mean')),
    [
      'component is unknown: did you mean components?',
      'paths./a.GET is unknown: did you mean get?',
      '/a.get.reponses is unknown: did you mean responses?',
      'schemas.A.minLenght is unknown: did you mean minLength?',
    ],
  )
})

t.test('of many problems the first are told, and how many more there are', async (t) => {
  const schemas = Array.from({ length: 500 }, (_, i) => `    A${i}: 7\n`).join('')
  const error: Error = await read({ 'openapi.yaml': `${head}components:\n  schemas:\n${schemas}` }).catch(
    (each) => each,
  )
  const lines = error.message.split('\n')
  t.equal(lines.length, 21)
  t.match(lines[0], 'openapi.yaml:5:5: components.schemas.A0 must be a schema')
  t.equal(lines.at(-1), 'and 480 more')
})
