// References to schemas within components that do not exist in an older version of OpenAPI.

import t from 'tap'
import { toOpenApi30 } from '../../../src/compile/documents/openapi-3.0.js'
import { withoutOpenApi32 } from '../../../src/compile/documents/openapi-3.1.js'

const toy = { type: 'object', properties: { next: { $ref: '#/components/mediaTypes/Toy/schema' } } }
const cat = { type: 'object', properties: { kind: { const: 'cat' } }, required: ['kind'] }
const path = '#/components/pathItems/Toys/post/requestBody/content/application~1json/schema'
const body = { content: { 'application/json': { schema: cat } } }
const document = {
  openapi: '3.2.0',
  info: { title: 'T', version: '1.0.0' },
  paths: { '/toys': { $ref: '#/components/pathItems/Toys' } },
  components: {
    schemas: {
      Toy_schema: { type: 'string' },
      Box: { oneOf: [{ $ref: path }], discriminator: { propertyName: 'kind', mapping: { cat: path } } },
    },
    mediaTypes: { Toy: { schema: toy } },
    pathItems: {
      Toys: {
        post: {
          requestBody: body,
          responses: {
            200: {
              description: 'A.',
              content: { 'application/json': { $ref: '#/components/mediaTypes/Toy' } },
            },
          },
        },
      },
    },
  },
}

function refsIn(copy: object): string[] {
  return [...JSON.stringify(copy).matchAll(/"(?:\$ref|cat)":"(#[^"]*)"/g)].map(([, ref = '']) => ref)
}

t.test('each becomes a component, by a name that is free', async (t) => {
  const copy = withoutOpenApi32(document) as typeof document
  const next = { $ref: '#/components/schemas/Toy_schema_' }
  t.strictSame(copy.components.schemas, {
    ...document.components.schemas,
    Toy_schema_: { type: 'object', properties: { next } },
  })
  t.notOk('mediaTypes' in copy.components)
})

t.test('in 3.0, those of path items, too', async (t) => {
  const copy = toOpenApi30(document) as typeof document
  const name = 'Toys_post_requestBody_content_application_json_schema'
  t.strictSame(Object.keys(copy.components.schemas), ['Toy_schema', 'Box', 'Toy_schema_', name])
  t.strictSame([...new Set(refsIn(copy))].sort(), [
    '#/components/schemas/Toy_schema_',
    `#/components/schemas/${name}`,
  ])
})
