// A `$ref` to the wrong kind of component, and the error for a cycle of references.

import t from 'tap'
import { toContract } from '../../src/compile/read.js'

const components = {
  schemas: { A: { type: 'object', properties: { a: { type: 'string' } } } },
  responses: { R: { description: 'A.' } },
  parameters: { P: { name: 'p', in: 'query', schema: { type: 'string' } } },
  headers: { H: { schema: { type: 'string' } } },
  requestBodies: { B: { content: { 'application/json': {} } } },
  mediaTypes: { M: { schema: { type: 'string' } } },
  pathItems: { I: { get: { operationId: 'getI', responses: { 204: { description: 'A.' } } } } },
  examples: { E: { value: 1 } },
  links: { L: { operationId: 'a' } },
  callbacks: { C: { '{$request.body#/u}': { $ref: '#/components/pathItems/I' } } },
  securitySchemes: { S: { type: 'http', scheme: 'bearer' } },
}
const ref = (name: string) => ({ $ref: `#/components/${name}` })
const json = (media: object) => ({ content: { 'application/json': media } })
const answer = (more: object) => ({ responses: { 200: { description: 'A.', ...more } } })

function problemsOf(operation: object, more: object = {}) {
  const whole = { operationId: 'a', responses: { 204: { description: 'A.' } }, ...operation }
  const info = { title: 'T', version: '1' }
  const document = { openapi: '3.2.0', info, paths: { '/a': { post: whole } }, components, ...more }
  return toContract({ document, text: '' }).problems
}

type Refused = [name: string, wanted: string, at: string, operation: object, more?: object]

const schema = ref('schemas/A')
const refused: Refused[] = [
  ['schemas/A', 'a media type', 'requestBody.content.application/json', { requestBody: json(schema) }],
  ['schemas/A', 'a request body', 'requestBody', { requestBody: schema }],
  ['responses/R', 'a request body', 'requestBody', { requestBody: ref('responses/R') }],
  ['headers/H', 'a parameter', 'parameters.0', { parameters: [ref('headers/H')] }],
  ['requestBodies/B', 'a response', 'responses.200', { responses: { 200: ref('requestBodies/B') } }],
  ['parameters/P', 'a header', 'responses.200.headers.A', answer({ headers: { A: ref('parameters/P') } })],
  ['schemas/A', 'a link', 'responses.200.links.A', answer({ links: { A: schema } })],
  ['schemas/A', 'a callback', 'callbacks.A', { callbacks: { A: schema } }],
  ['schemas/A', 'a path item', 'callbacks.A.{$url}', { callbacks: { A: { '{$url}': schema } } }],
  [
    'schemas/A',
    'an example',
    'requestBody.content.application/json.examples.a',
    { requestBody: json({ examples: { a: schema } }) },
  ],
  [
    'mediaTypes/M',
    'a schema',
    'requestBody.content.application/json.schema',
    { requestBody: json({ schema: ref('mediaTypes/M') }) },
  ],
  [
    'examples/E',
    'a schema',
    'requestBody.content.application/json.schema.items',
    { requestBody: json({ schema: { type: 'array', items: ref('examples/E') } }) },
  ],
  ['responses/R', 'a path item', 'webhooks.w', {}, { webhooks: { w: ref('responses/R') } }],
  [
    'schemas/A',
    'a security scheme',
    'components.securitySchemes.T',
    {},
    { components: { ...components, securitySchemes: { T: schema } } },
  ],
]

for (const [name, wanted, at, operation, more] of refused) {
  t.test(`a $ref to ${name} where ${wanted} belongs is refused with its place`, async (t) => {
    const [problem] = problemsOf(operation, more)
    t.match(problem?.text, `$ref #/components/${name} refers to `)
    t.match(problem?.text, `: it must refer to ${wanted}`)
    t.match(problem?.at.join('.'), new RegExp(`${at.replace(/[{}$.]/g, '\\$&')}$`))
  })
}

t.test('a path that refers to a schema is refused', async (t) => {
  const [problem] = problemsOf({}, { paths: { '/a': schema } })
  t.equal(problem?.text, '$ref #/components/schemas/A refers to a schema: it must refer to a path item')
  t.strictSame(problem?.at, ['paths', '/a'])
})

t.test('a $ref to its own kind is read, also from the middle of a document', async (t) => {
  const media = ref('mediaTypes/M')
  const operation = {
    parameters: [ref('parameters/P'), { ...components.parameters.P, name: 'q' }],
    requestBody: ref('requestBodies/B'),
    callbacks: { C: ref('callbacks/C') },
    responses: {
      200: {
        description: 'A.',
        headers: { A: ref('headers/H') },
        links: { A: ref('links/L') },
        content: { 'application/json': media },
      },
      201: { $ref: '#/paths/~1a/post/responses/200' },
      202: {
        description: 'A.',
        ...json({
          schema: { $ref: '#/paths/~1b/post/parameters/0/schema' },
          examples: { e: ref('examples/E') },
        }),
      },
    },
  }
  const b = {
    operationId: 'b',
    parameters: [components.parameters.P],
    responses: { 200: ref('responses/R') },
  }
  const paths = { '/a': { post: { operationId: 'a', ...operation } }, '/b': { post: b } }
  t.strictSame(problemsOf({}, { paths, webhooks: { w: ref('pathItems/I') } }), [])
})

t.test('what only looks like a $ref is none', async (t) => {
  const { $ref } = ref('responses/R')
  const properties = { $ref: { type: 'string' }, examples: { type: 'object' } }
  const values = { example: { $ref }, examples: { a: { value: { $ref } } } }
  const requestBody = json({ schema: { type: 'object', properties, examples: [{ $ref }] } })
  t.strictSame(problemsOf({ requestBody, ...answer(json({ schema: {}, examples: values.examples })) }), [])
  t.strictSame(problemsOf(answer(json({ example: values.example, 'x-a': { $ref } }))), [])
})

t.test('a cycle is of schemas only where schemas are', async (t) => {
  const cycleOf = (kind: string, operation: object) => {
    const cycle = { A: ref(`${kind}/B`), B: ref(`${kind}/A`) }
    return problemsOf(operation, { components: { [kind]: cycle } }).map(({ text }) => text)
  }
  t.strictSame(
    cycleOf('mediaTypes', { requestBody: json(ref('mediaTypes/A')) }),
    ['A', 'B'].map((name) => `$ref #/components/mediaTypes/${name} refers back to itself`),
  )
  t.match(cycleOf('schemas', { requestBody: json({ schema: ref('schemas/A') }) }), [
    /^\$ref #\/components\/schemas\/A refers back to itself: a schema can recurse only through/,
  ])
})
