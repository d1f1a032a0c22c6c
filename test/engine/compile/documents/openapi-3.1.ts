// A contract of OpenAPI 3.2, converted to 3.1.

import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { toOpenApi30, withoutOpenApi32 } from 'contract-engine/tools'
import { lintFile } from 'contract-service/tools/generate/lint'
import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { problemsOf } from '../../../fixtures/openapi-problems.js'

const errors = '4XX: { description: An error. }'
const info = '{ title: Things, version: 1.0.0, license: { name: MIT, identifier: MIT } }'

const written = `openapi: 3.2.0
$self: https://example.org/things
jsonSchemaDialect: https://spec.openapis.org/oas/3.2/dialect/2025-09-17
info: ${info}
servers: [{ url: http://localhost:3000, name: local }]
tags: [{ name: all, summary: All things, kind: nav }, { name: some, parent: all }]
security: [{ '#/components/securitySchemes/key': [] }]
paths:
  /things:
    get:
      operationId: list
      summary: Lists
      parameters:
        - $ref: '#/components/parameters/Query'
        - { name: c, in: cookie, style: cookie, schema: { type: string }, examples: { a: { dataValue: x, serializedValue: c=x } } }
      responses:
        200: { summary: Things., content: { application/json: { $ref: '#/components/mediaTypes/Things' } } }
        ${errors}
    query:
      operationId: find
      summary: Finds
      requestBody: { required: true, content: { application/json: { schema: { type: integer } } } }
      responses: { 200: { description: Things., content: { application/json: { $ref: '#/components/mediaTypes/Things' } } }, ${errors} }
    additionalOperations:
      COPY:
        operationId: copy
        summary: Copies
        parameters: [{ name: j, in: querystring, content: { application/json: { schema: { type: object } } } }]
        responses: { 204: { description: Copied. }, ${errors} }
  /stream:
    get:
      operationId: watch
      summary: Watches
      responses: { 200: { content: { application/x-ndjson: { itemSchema: { $ref: '#/components/schemas/Thing' } } } }, ${errors} }
components:
  parameters:
    Query:
      name: q
      in: querystring
      required: true
      content:
        application/x-www-form-urlencoded:
          schema: { type: object, required: [a], properties: { a: { type: integer }, b: { type: array, items: { type: string } }, o: { type: object } } }
          encoding: { b: { explode: false }, o: { contentType: application/json } }
  mediaTypes:
    Things: { schema: { type: array, items: { $ref: '#/components/schemas/Thing' } } }
  schemas:
    Thing:
      oneOf: [{ $ref: '#/components/schemas/Cup' }, { $ref: '#/components/schemas/Other' }]
      discriminator: { propertyName: kind, mapping: { cup: '#/components/schemas/Cup' }, defaultMapping: Other }
    Cup: { type: object, required: [kind], properties: { kind: { const: cup }, n: { type: integer, xml: { nodeType: attribute } } } }
    Other: { type: object, properties: { kind: { type: string, not: { const: cup } } } }
  securitySchemes:
    key: { type: http, scheme: bearer, deprecated: true }
    old: { type: http, scheme: basic, description: A password., deprecated: true }
    login: { type: oauth2, oauth2MetadataUrl: https://example.org/metadata, flows: { deviceAuthorization: { deviceAuthorizationUrl: https://example.org/device, tokenUrl: https://example.org/token, scopes: {} } } }
    both: { type: oauth2, flows: { clientCredentials: { tokenUrl: https://example.org/token, scopes: {} }, deviceAuthorization: { deviceAuthorizationUrl: https://example.org/device, tokenUrl: https://example.org/token, scopes: {} } } }
`

const converted = `openapi: 3.1.1
info: ${info}
servers: [{ url: http://localhost:3000 }]
tags: [{ name: all, x-displayName: All things }, { name: some, x-parent: all }]
security: [{ key: [] }]
paths:
  /things:
    get:
      operationId: list
      summary: Lists
      parameters:
        - { name: a, in: query, required: true, schema: { type: integer } }
        - { name: b, in: query, explode: false, schema: { type: array, items: { type: string } } }
        - { name: o, in: query, content: { application/json: { schema: { type: object } } } }
        - { name: c, in: cookie, style: form, schema: { type: string }, examples: { a: { value: x } } }
      responses:
        200: { description: Things., x-summary: Things., content: { application/json: &things { schema: { type: array, items: { $ref: '#/components/schemas/Thing' } } } } }
        ${errors}
    x-query:
      operationId: find
      summary: Finds
      requestBody: { required: true, content: { application/json: { schema: { type: integer } } } }
      responses: { 200: { description: Things., content: { application/json: *things } }, ${errors} }
    x-additionalOperations:
      COPY:
        operationId: copy
        summary: Copies
        parameters: []
        responses: { 204: { description: Copied. }, ${errors} }
  /stream:
    get:
      operationId: watch
      summary: Watches
      responses: { 200: { description: '', content: { application/x-ndjson: { schema: { $ref: '#/components/schemas/Thing' } } } }, ${errors} }
components:
  parameters: {}
  schemas:
    Thing:
      oneOf: [{ $ref: '#/components/schemas/Cup' }, { $ref: '#/components/schemas/Other' }]
    Cup: { type: object, required: [kind], properties: { kind: { const: cup }, n: { type: integer, xml: { attribute: true } } } }
    Other: { type: object, properties: { kind: { type: string, not: { const: cup } } } }
  securitySchemes:
    key: { type: http, scheme: bearer, description: Deprecated. }
    old: { type: http, scheme: basic, description: Deprecated. A password. }
    login: { type: http, scheme: bearer, description: 'A token of the device flow (RFC 8628): https://example.org/device, then https://example.org/token.' }
    both: { type: oauth2, flows: { clientCredentials: { tokenUrl: https://example.org/token, scopes: {} } } }
`

t.test('what 3.1 can say is said, and the rest is left out', async (t) => {
  t.strictSame(withoutOpenApi32(parse(written)), parse(converted))
})

t.test('a document of an older version stays as it is', async (t) => {
  const document = parse(converted)
  t.equal(withoutOpenApi32(document), document)
})

t.test('the document is valid as written, as 3.1 and as 3.0', async (t) => {
  const document = parse(written)
  const all = { written: document, 3.1: withoutOpenApi32(document), '3.0': toOpenApi30(document) }
  for (const [name, each] of Object.entries(all)) {
    t.strictSame(await problemsOf(each), [], name)
    const found = await inTemporaryDirectory(async (directory) => {
      const file = path.join(directory, 'openapi.yaml')
      await writeFile(file, stringify(each, { aliasDuplicateObjects: false }))
      return lintFile(file)
    })
    t.strictSame(found.errors, [], `lint of ${name}`)
  }
})
