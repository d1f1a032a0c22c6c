// The types of handlers for every kind of body and response, as the compiler checks them.

import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { generateOperations } from 'contract-engine/generate'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { readServiceContract } from 'contract-service/internal/auth/plans'
import { contractFile } from 'contract-service/internal/lib/paths'
import { checkTypes } from 'contract-service/tools/dev/types'
import { findDifferences, writeDifferences } from 'contract-service/tools/generate/differences'
import t, { type Test } from 'tap'
import { buildClient } from '../../../scripts/package/client.js'
import { copyProject, edit, editContract, handlerText } from '../../fixtures/copy.js'

// Replaces the line `components:` by the operation and that line.
const operation = (name: string, rest: string) => `  /${name}:
    post:
      operationId: ${name}
      summary: Do ${name}
${rest.replace(/^/gm, '      ')}
`

const done = "responses: {'204': {description: Done.}, 4XX: {$ref: '#/components/responses/UnexpectedError'}}"
const taking = (content: string, required = true) =>
  `requestBody: {required: ${required}, content: ${content}}\n${done}`
const answering = (responses: string) => `responses: {${responses}}`
const one = (content: string) => `{description: It., content: ${content}}`
const pet = "{application/json: {schema: {$ref: '#/components/schemas/Pet'}}}"

const events =
  "{text/event-stream: {schema: {oneOf: [{type: object, required: [event, data], properties: {event: {const: added}, data: {$ref: '#/components/schemas/Pet'}}}, {type: object, required: [data], properties: {data: {const: '[DONE]'}}}]}}}"

const itemOf = (name: string) => `type Item = import('../../generated/operations.js').ItemOf<'${name}'>`

// For each: its name, the rest of its contract, a right and a wrong handler, and the compiler's error.
const rows: readonly (readonly [
  name: string,
  rest: string,
  right: string,
  wrong: string,
  problem: RegExp,
])[] = [
  [
    'text',
    taking('{text/plain: {schema: {type: string, enum: [a, b]}}}'),
    "async ({ body }) => { body satisfies 'a' | 'b'; return { status: 204 } }",
    "async ({ body }) => { body satisfies 'a'; return { status: 204 } }",
    /'"a" \| "b"' does not satisfy/,
  ],
  [
    'anyText',
    taking('{text/plain: {}}'),
    'async ({ body }) => { body satisfies string; return { status: 204 } }',
    'async ({ body }) => { body satisfies Uint8Array; return { status: 204 } }',
    /'string' does not satisfy the expected type 'Uint8Array/,
  ],
  [
    'optionalText',
    taking('{text/plain: {schema: {type: string}}}', false),
    'async ({ body }) => { body satisfies string | undefined; return { status: 204 } }',
    'async ({ body }) => { body satisfies string; return { status: 204 } }',
    /undefined/,
  ],
  [
    'form',
    taking(
      '{application/x-www-form-urlencoded: {schema: {type: object, required: [id], properties: {id: {type: integer, format: int64}, u: {type: integer, format: uint64}, tags: {type: array, items: {type: string}}}}}}',
    ),
    'async ({ body }) => { body satisfies { id: bigint; u?: bigint; tags?: string[] }; return { status: 204 } }',
    'async ({ body }) => { body satisfies { id: bigint; tags: string[] }; return { status: 204 } }',
    /tags/,
  ],
  [
    'largeForm',
    `x-limits: {bodyBytes: 2000000}\n${taking('{multipart/form-data: {schema: {type: object, required: [title, front], properties: {title: {type: string}, front: {type: string, format: binary}, pages: {type: array, items: {type: string, format: binary}}}}}}')}`,
    "async ({ body }) => { body satisfies { title: string }; for await (const { name, type, file } of body) { [name, type] satisfies ['front' | 'pages', string | undefined]; file satisfies import('node:stream').Readable }; return { status: 204 } }",
    'async ({ body }) => { body.front; return { status: 204 } }',
    /'front' does not exist/,
  ],
  [
    'largeFile',
    `x-limits: {bodyBytes: 2000000}\n${taking('{multipart/form-data: {schema: {type: object, required: [photo], properties: {photo: {type: string, format: binary}}}}}')}`,
    "async ({ body }) => { body.photo satisfies import('node:stream').Readable; body.photo.type satisfies string | undefined; return { status: 204 } }",
    'async ({ body }) => { body.photo.type satisfies string; return { status: 204 } }',
    /undefined/,
  ],
  [
    'upload',
    taking(
      '{multipart/form-data: {schema: {type: object, required: [photo], properties: {photo: {type: string, format: binary}, scans: {type: array, items: {type: string, contentMediaType: image/png}}, name: {type: string}}}}}',
    ),
    'async ({ body }) => { body satisfies { photo: Uint8Array; scans?: Uint8Array[]; name?: string }; [body.photo.type, body.scans?.[0]?.type] satisfies (string | undefined)[]; return { status: 204 } }',
    'async ({ body }) => { body satisfies { photo: string }; return { status: 204 } }',
    /WithFiles.*does not satisfy/,
  ],
  [
    'oddName',
    taking(
      String.raw`{multipart/form-data: {schema: {type: object, properties: {"a'\n\\b\"": {type: string, format: binary}}}}}`,
    ),
    String.raw`async ({ body }) => { body satisfies { "a'\n\\b\""?: Uint8Array }; return { status: 204 } }`,
    String.raw`async ({ body }) => { body satisfies { "a'\n\\b\""?: string }; return { status: 204 } }`,
    /WithFiles.*does not satisfy/,
  ],
  [
    'several',
    taking(
      `{application/json: {schema: {$ref: '#/components/schemas/Pet'}}, text/csv: {}, application/pdf: {}}`,
    ),
    'async ({ body }) => { body satisfies string | Uint8Array | { name: string }; return { status: 204 } }',
    'async ({ body }) => { body satisfies string | { name: string }; return { status: 204 } }',
    /Uint8Array/,
  ],
  [
    'onlyDefault',
    answering(`default: ${one(pet)}`),
    "async () => ({ status: 200, body: { id: 1n, name: '', categoryId: 1n } })",
    'async () => ({ status: 200, body: { id: 1n } })',
    /Type '\{ id: bigint; \}' is missing/,
  ],
  [
    'goodOnes',
    answering(`2XX: ${one(pet)}, '202': ${one('{text/plain: {}}')}`),
    "async () => Math.random() > 1 ? { status: 202, body: 'later' } : { status: 226, body: { id: 1n, name: '', categoryId: 1n } }",
    "async () => ({ status: 202, body: { id: 1n, name: '', categoryId: 1n } })",
    /not assignable/,
  ],
  [
    'otherClass',
    answering(`2XX: ${one(pet)}, default: ${one(pet.replace('Pet', 'Error'))}`),
    "async () => ({ status: 299, body: { id: 1n, name: '', categoryId: 1n } })",
    "async () => ({ status: 300, body: { id: 1n, name: '', categoryId: 1n } })",
    /300/,
  ],
  [
    'image',
    answering(`'200': ${one('{image/*: {schema: {type: string, format: binary}}}')}`),
    "async () => ({ status: 200, headers: { 'Content-Type': 'image/png' }, body: new Uint8Array() })",
    'async () => ({ status: 200, body: new Uint8Array() })',
    /headers/,
  ],
  [
    'wrongImage',
    answering(`'200': ${one('{image/*: {}}')}`),
    "async () => ({ status: 200, headers: { 'Content-Type': 'image/x.y' }, body: 'x' })",
    "async () => ({ status: 200, headers: { 'Content-Type': 'text/plain' }, body: 'x' })",
    /text\/plain/,
  ],
  [
    'eitherImage',
    answering(`'200': ${one('{image/png: {}, image/webp: {schema: {type: string, format: binary}}}')}`),
    "async () => ({ status: 200, headers: { 'Content-Type': Math.random() > 1 ? 'image/png' : 'image/webp' }, body: 'x' })",
    "async () => ({ status: 200, headers: { 'Content-Type': Math.random() > 1 ? 'image/png' : 'image/gif' }, body: 'x' })",
    /image\/gif/,
  ],
  [
    'chosen',
    answering(
      `'200': ${one(`{application/json: {schema: {type: array, items: {type: string}}}, text/csv: {}}`)}`,
    ),
    "async () => Math.random() > 1 ? { status: 200, body: ['a'] } : { status: 200, headers: { 'Content-Type': 'text/csv' }, body: 'a' }",
    "async () => ({ status: 200, body: 'a' })",
    /not assignable/,
  ],
  [
    'tuple',
    taking(
      '{application/json: {schema: {type: array, prefixItems: [{type: string}, {type: integer}], minItems: 1, items: {type: integer, format: int64}}}}',
    ),
    'async ({ body }) => { body satisfies [string, number?, ...bigint[]]; return { status: 204 } }',
    'async ({ body }) => { body satisfies [string, number, ...bigint[]]; return { status: 204 } }',
    /does not satisfy/,
  ],
  [
    'closedTuple',
    taking('{application/json: {schema: {type: array, prefixItems: [{type: string}], items: false}}}'),
    'async ({ body }) => { body satisfies [string?]; return { status: 204 } }',
    'async ({ body }) => { body satisfies [string]; return { status: 204 } }',
    /does not satisfy/,
  ],
  [
    'anyFields',
    answering(`'200': ${one('{application/json: {schema: {type: object}}}')}`),
    'async () => ({ status: 200, body: { a: 1, b: [2n] } })',
    'async () => ({ status: 200, body: 1 })',
    /number/,
  ],
  [
    'noFields',
    answering(`'200': ${one('{application/json: {schema: {type: object, additionalProperties: false}}}')}`),
    'async () => ({ status: 200, body: {} })',
    'async () => ({ status: 200, body: { a: 1 } })',
    /number/,
  ],
  [
    'namedKinds',
    taking(
      "{application/json: {schema: {oneOf: [{$ref: '#/components/schemas/Ball'}, {$ref: '#/components/schemas/Rope'}], discriminator: {propertyName: kind, mapping: {round: Ball, long: Rope}}}}}",
    ),
    "async ({ body }) => { body.kind satisfies 'round' | 'long'; return { status: 204 } }",
    "async ({ body }) => { body.kind satisfies 'Ball' | 'Rope'; return { status: 204 } }",
    /does not satisfy/,
  ],
  [
    'completed',
    taking(
      "{application/json: {schema: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer, default: 1}, cage: {$ref: '#/components/schemas/Cage'}}}}}",
    ),
    'async ({ body }) => { body satisfies { name: string; size: number; cage?: { doors: bigint } }; return { status: 204 } }',
    'async ({ body }) => { body satisfies { cage: object }; return { status: 204 } }',
    /cage/,
  ],
  [
    'defaulted',
    answering(
      `'200': ${one("{application/json: {schema: {type: object, required: [id, kind], properties: {id: {type: integer}, kind: {type: string, default: a}, size: {type: integer, default: 1}, cage: {$ref: '#/components/schemas/Cage'}}}}}")}`,
    ),
    "async () => ({ status: 200, body: { id: 1, kind: 'b', cage: { inner: [{}] } } })",
    'async () => ({ status: 200, body: { id: 1 } })',
    /'kind' is missing/,
  ],
  [
    'caged',
    `requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Cage'}}}}\n${answering(
      `'200': ${one("{application/json: {schema: {$ref: '#/components/schemas/Cage'}}}")}`,
    )}`,
    'async ({ body }) => { (body.inner ?? []).map(({ doors }) => doors) satisfies bigint[]; return { status: 200, body: { inner: [body] } } }',
    'async ({ body: { inner } }) => { inner satisfies object; return { status: 200, body: {} } }',
    /undefined/,
  ],
  [
    'patterned',
    taking(
      "{application/json: {schema: {type: object, required: [list], properties: {list: {type: array, items: {$ref: '#/components/schemas/Size'}}, kind: {allOf: [{$ref: '#/components/schemas/Kind'}]}, inner: {type: object, required: [unit], properties: {unit: {type: string}, size: {type: integer}}}}, additionalProperties: {type: object, properties: {unit: {type: string, default: cm}}}, then: {properties: {late: {type: string, default: a}}}}}}",
    ),
    "async ({ body }) => { [body.kind, ...body.list.map(({ unit }) => unit)] satisfies ('plain' | string)[]; return { status: 204 } }",
    'async ({ body }) => { body.late satisfies string; body.inner?.size satisfies object | undefined; return { status: 204 } }',
    /'string \| undefined' does not satisfy[\s\S]*'number \| undefined' does not satisfy/,
  ],
  [
    'chained',
    "responses: {'200': {$ref: '#/components/responses/First'}, x-note: 1}",
    "async () => ({ status: 200, body: 'a' })",
    'async () => ({ status: 200, body: 1 })',
    /number/,
  ],
  [
    'conflicting',
    `responses: {'204': {description: Done.}, '409': ${one('{application/json: {schema: {type: object, required: [holder], properties: {holder: {type: integer, format: int64}}}}}')}, '422': ${one('{text/plain: {schema: {type: string}}}')}, 4XX: {$ref: '#/components/responses/UnexpectedError'}, default: {$ref: '#/components/responses/UnexpectedError'}}`,
    'async () => ({ status: 409, body: { holder: 1n } })',
    'async () => ({ status: 409, body: { holder: 1 } })',
    /bigint/,
  ],
  [
    'ownField',
    answering(`'200': ${one(pet)}`),
    "async () => ({ status: 200, body: { id: 1n, name: '', categoryId: 1n } })",
    "async () => ({ status: 200, body: { id: 1n, name: '', categoryId: 1n, grams: 1 } })",
    /TS2353: .*'grams' does not exist in type 'Pet'/,
  ],
  [
    'ownHeader',
    answering(`'204': {description: Done., headers: {X-A: {schema: {type: string}}}}`),
    "async () => ({ status: 204, headers: { 'X-A': 'a' } })",
    "async () => ({ status: 204, headers: { 'X-A': 'a', 'X-B': 'b' } })",
    /TS2353: .*''X-B'' does not exist in type '\{ 'X-A'\?: string; \}'/,
  ],
  [
    'feed',
    answering(`'200': ${one("{application/jsonl: {schema: {$ref: '#/components/schemas/Pet'}}}")}`),
    "async () => ({ status: 200, body: (async function* () { yield { id: 1n, name: '', categoryId: 1n } })() })",
    'async () => ({ status: 200, body: (async function* () { yield { id: 1n } })() })',
    /not assignable/,
  ],
  [
    'imported',
    taking("{application/x-ndjson: {itemSchema: {$ref: '#/components/schemas/NewPet'}}}"),
    'async ({ body }) => { for await (const { categoryId } of body) categoryId satisfies bigint; const all = body.counted({ errorsMax: 5 }); for await (const { name } of all) name satisfies string; if (all.error) throw all.error; all.valid + all.invalid satisfies number; for (const { line, pointer, detail } of all.errors) [line satisfies number, pointer, detail] satisfies unknown[]; return { status: 204 } }',
    'async ({ body }) => { for await (const { id } of body) void id; return { status: 204 } }',
    /Property 'id' does not exist/,
  ],
  [
    'exported',
    answering(`'200': ${one("{text/csv: {itemSchema: {$ref: '#/components/schemas/Pet'}}}")}`),
    `async () => { ${itemOf('exported')}; async function* rows(): AsyncGenerator<Item> { yield { id: 1n, name: '', categoryId: 1n } } return { status: 200, body: rows() } }`,
    "async () => ({ status: 200, body: [{ id: 1, name: '', categoryId: 1n }] })",
    /not assignable/,
  ],
  [
    'listed',
    answering(`'200': ${one("{application/json-seq: {schema: {$ref: '#/components/schemas/Pet'}}}")}`),
    "async () => ({ status: 200, body: [{ id: 1n, name: '', categoryId: 1n }] })",
    "async () => ({ status: 200, body: [{ id: 1n, name: '', categoryId: 1n, grams: 1 }] })",
    /not assignable/,
  ],
  [
    'eventFeed',
    answering(`'200': ${one(events)}`),
    "async () => ({ status: 200, body: [{ event: 'added', id: '1', data: { id: 1n, name: '', categoryId: 1n } }, { data: '[DONE]' }] })",
    "async () => ({ status: 200, body: [{ event: 'added', data: '[STOP]' }] })",
    /not assignable/,
  ],
  [
    'feedOrFile',
    answering(
      `'200': ${one("{application/jsonl: {schema: {$ref: '#/components/schemas/Pet'}}, application/pdf: {}}")}, '202': ${one('{text/event-stream: {schema: {type: string}}, application/json: {}}')}, '206': ${one('{image/png: {}}')}, '400': ${one("{application/json: {schema: {$ref: '#/components/schemas/Error'}}}")}, 4XX: {$ref: '#/components/responses/UnexpectedError'}`,
    ),
    `async () => { ${itemOf('feedOrFile')}; const items: Item[] = [{ id: 1n, name: '', categoryId: 1n }, { data: 'a' }]; for (const item of items) 'data' in item ? item.data satisfies string : item.id satisfies bigint; return { status: 206, body: '' } }`,
    `async () => { ${itemOf('feedOrFile')}; const item: Item = 5; return { status: 206, body: String(item) } }`,
    /'number' is not assignable/,
  ],
  [
    'feedByRef',
    answering(
      "'200': {$ref: '#/components/responses/Feed'}, default: {$ref: '#/components/responses/UnexpectedError'}",
    ),
    `async () => { ${itemOf('feedByRef')}; const body: Item[] = [{ id: 1n, name: '', categoryId: 1n }]; return { status: 200, body } }`,
    `async () => { ${itemOf('feedByRef')}; const body: Item[] = [{ id: 1n }]; return { status: 200, body } }`,
    /is missing the following properties/,
  ],
  [
    'noFeed',
    answering(`'200': ${one('{application/octet-stream: {}}')}`),
    `async () => { ${itemOf('noFeed')}; const body: Item[] = []; return { status: 200, body: String(body[0] satisfies undefined) } }`,
    `async () => { ${itemOf('noFeed')}; const body: Item[] = ['a']; return { status: 200, body: String(body) } }`,
    /to type 'never'/,
  ],
  [
    'textFeed',
    answering(
      `'200': ${one('{application/json: {schema: {type: string}}, text/event-stream: {schema: {type: string}}}')}`,
    ),
    "async () => ({ status: 200, headers: { 'Content-Type': 'text/event-stream' }, body: [{ data: 'a', retry: 1 }] })",
    "async () => ({ status: 200, headers: { 'Content-Type': 'text/event-stream' }, body: [{ data: 'a', comment: '' }] })",
    /comment/,
  ],
  [
    'negotiated',
    answering(
      `'200': ${one(`{application/json: {schema: {type: string}}, text/event-stream: {schema: {type: string}}}`)}`,
    ),
    "async ({ accept }) => { accept satisfies 'application/json' | 'text/event-stream'; return accept === 'application/json' ? { status: 200, headers: { 'Content-Type': accept }, body: 'a' } : { status: 200, headers: { 'Content-Type': accept }, body: [{ data: 'a' }] } }",
    "async ({ accept }) => { accept satisfies 'application/json'; return { status: 200, headers: { 'Content-Type': 'application/json' }, body: 'a' } }",
    /does not satisfy/,
  ],
  [
    'notNegotiated',
    answering(`'200': ${one('{application/json: {schema: {type: string}}}')}`),
    "async (request) => ({ status: 200, body: Object.keys(request)[0] ?? '' })",
    'async ({ accept }) => ({ status: 200, body: accept })',
    /Property 'accept' does not exist/,
  ],
  [
    'picture',
    answering(`'200': ${one('{image/png: {}, text/csv: {schema: {type: string}}}')}`),
    "async () => ({ status: 200, headers: { 'Content-Type': 'image/png' }, body: new Uint8Array() })",
    "async () => ({ status: 200, headers: { 'Content-Type': 'image/png' }, body: 1 })",
    /not assignable/,
  ],
  [
    'raw',
    taking('{application/octet-stream: {}}'),
    'async ({ body }) => { body satisfies Uint8Array; return { status: 204 } }',
    'async ({ body }) => { body satisfies string; return { status: 204 } }',
    /does not satisfy/,
  ],
  [
    'bodiless',
    answering(`'204': ${one(pet)}`),
    'async () => ({ status: 204 })',
    'async () => ({ status: 200 })',
    /200/,
  ],
]

const chain = `    First: {$ref: '#/components/responses/Second'}
    Second: {description: It., content: {application/json: {schema: {type: string}}}}
    Feed: {description: It., content: {application/jsonl: {schema: {$ref: '#/components/schemas/Pet'}}}}
`
const kinds = `    Ball: {type: object, required: [kind], properties: {kind: {type: string}}}
    Rope: {type: object, required: [kind], properties: {kind: {type: string}}}
    Cage: {type: object, properties: {doors: {$ref: '#/components/schemas/Doors'}, inner: {type: array, items: {$ref: '#/components/schemas/Cage'}}}}
    Doors: {type: integer, format: int64, default: 1}
    Size: {type: object, properties: {unit: {type: string, default: cm}, size: {type: integer, default: 1}}}
    Kind: {type: string, default: plain}
`

// The client takes the same bodies, of several types JSON, and of files whatever `fetch` does.
const calls = `import type { Calls } from '../../generated/client.js'
import { type ErrorOf, isErrorOf } from './index.js'

export async function call(client: Calls): Promise<void> {
  await client.text({ body: 'a' })
  await client.optionalText()
  await client.form({ body: { id: 1n, tags: ['a'] } })
  await client.upload({ body: { photo: new Uint8Array(), scans: [new Blob([])] } })
  await client.several({ body: { id: 1n, name: '', categoryId: 1n } })
  await client.imported({ body: [{ name: '', categoryId: 1n }] })
  await client.imported({ body: (async function* () { yield { name: '', categoryId: 1n, status: undefined } })() })
  // @ts-expect-error: items, not one of them
  await client.imported({ body: { name: '', categoryId: 1n } })
  // @ts-expect-error: an int64 is a bigint in each item
  await client.imported({ body: [{ name: '', categoryId: 1 }] })
  await client.completed({ body: { name: '', cage: { inner: [{}, { doors: 2n }] } } })
  await client.patterned({ body: { list: [{}, { size: 1 }] } })
  const { data } = await client.caged({ body: { inner: [{}] } })
  data.doors satisfies bigint | undefined
  // @ts-expect-error: a response gets no default
  data.doors satisfies bigint
  ;(await client.defaulted()).data.kind satisfies string
  // @ts-expect-error: nor has this one to have it
  ;(await client.defaulted()).data.size satisfies number
  // @ts-expect-error: it has no default
  await client.completed({ body: { size: 1 } })
  // @ts-expect-error: an int64 is a bigint, whether or not it may be left out
  await client.completed({ body: { name: '', cage: { doors: 1 } } })
  // @ts-expect-error: one of two texts
  await client.text({ body: 'c' })
  // @ts-expect-error: it is required
  await client.anyText()
  // @ts-expect-error: an int64 is a bigint
  await client.form({ body: { id: 1 } })
  // @ts-expect-error: a file
  await client.upload({ body: { photo: 'x' } })
  // @ts-expect-error: of several types JSON
  await client.several({ body: 'a,b' })
}

export async function read(client: Calls, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const { id } of client.feed()) id satisfies bigint
  ;(await client.exported()).data satisfies Uint8Array
  ;(await client.exported({ stream: true })).data satisfies ReadableStream<Uint8Array>
  for await (const { data } of client.eventFeed({ reconnect: false, silenceMaxMs: 1 }))
    if (data !== '[DONE]') data.id satisfies bigint
  const { response, rateLimit } = await client.listed({ attemptsMax: 1 }).open()
  ;[response.status, rateLimit?.remaining] satisfies unknown[]
  ;(await client.textFeed()).data satisfies string
  for await (const { data } of client.textFeed({ accept: 'text/event-stream' })) data satisfies string
  ;(await client.textFeed({ accept: 'application/json' })).data satisfies string
  ;(await client.picture({ accept: 'image/png' })).data satisfies Uint8Array
  ;(await client.picture({ accept: 'image/png', stream: true })).data satisfies ReadableStream<Uint8Array>
  ;(await client.picture()).data satisfies Uint8Array | string
  for (const body of [new Blob([]), new Uint8Array(), new ReadableStream<Uint8Array>(), chunks])
    await client.raw({ body })
  // @ts-expect-error: none of its media types
  client.textFeed({ accept: 'text/plain' })
  // @ts-expect-error: no stream of items
  for await (const _ of client.textFeed({ accept: 'application/json' })) void _
  // @ts-expect-error: it is no file
  await client.picture({ accept: 'text/csv', stream: true })
  // @ts-expect-error: a file
  await client.raw({ body: 1 })
}

// Errors are told apart by their status: by its own, that of its class, or the rest.
export function told(error: ErrorOf<'conflicting'> | ErrorOf<'text'>): bigint | string {
  if (!isErrorOf(error, 'conflicting')) return ''
  if (error.status === 409) return error.body.holder
  if (error.status === 422) return error.body
  if (error.status === 404 || error.status === 503) return error.body.code ?? ''
  // @ts-expect-error: the standard body
  return error.body
}
`

t.test('handlers of bodies and responses', async (t) => {
  const copy = copyProject(t)
  edit(copy, 'tsconfig.json', '"generated", "scripts", "test"', '"generated"')
  const operations = rows.map(([name, rest]) => operation(name, rest)).join('')
  edit(copy, 'openapi.yaml', 'components:\n', `${operations}\ncomponents:\n`)
  edit(copy, 'openapi.yaml', '\n  responses:\n', `\n  responses:\n${chain}`)
  edit(copy, 'openapi.yaml', '\n  schemas:\n', `\n  schemas:\n${kinds}`)
  editContract(copy, (document) => {
    const [get, post] = ['getShared', 'addShared'].map((operationId) => ({
      operationId,
      summary: operationId,
      responses: {
        204: { description: 'Done.' },
        default: { $ref: '#/components/responses/UnexpectedError' },
      },
    }))
    document.setIn(['components', 'pathItems'], document.createNode({ Shared: { get } }))
    const item = { $ref: '#/components/pathItems/Shared', post }
    document.setIn(['paths', '/shared'], document.createNode(item))
  })
  editContract(copy, (document) => document.deleteIn(['components', 'schemas', 'Error', 'required']))
  const { differences, warnings } = await findDifferences(copy)
  t.strictSame(
    warnings
      .filter((line) => /^warning: (?!.* declares no body|.* has itemSchema|and )/.test(line))
      .map((line) => line.replace(/\S+:\d+:\d+: /, '')),
    ['warning: POST /bodiless: the response 204 cannot have a body: its content is ignored'],
  )
  await writeDifferences(copy, differences)

  await t.test('compile where they are right', async (t) => {
    for (const [name, , right] of rows) write(copy, name, right)
    writeFileSync(path.join(copy, 'src/client/calls.ts'), calls)
    t.strictSame(await checkTypes(copy), { server: [], others: [] })
  })
  await t.test('do not keep the client from compiling, which has no types of Node', async (t) => {
    writeFileSync(path.join(copy, 'LICENSE'), '')
    t.strictSame(buildClient(copy, temporaryDirectory(t)), [])
  })
  await t.test('do not where they are wrong', async (t) => {
    for (const [name, , , wrong] of rows) write(copy, name, wrong)
    const { server } = await checkTypes(copy)
    for (const [name, , , , problem] of rows) named(t, server, name, problem)
  })
})

function write(copy: string, name: string, handler: string): void {
  writeFileSync(path.join(copy, 'src/handlers', `${name}.ts`), handlerText(name, handler))
}

function named(t: Test, lines: readonly string[], name: string, problem: RegExp): void {
  t.match(lines.filter((line) => line.startsWith(`src/handlers/${name}.ts`)).join('\n'), problem, name)
}

t.test('an ApiError whose status the operation does not declare stops generate', async (t) => {
  const copy = copyProject(t)
  const file = path.join(copy, 'openapi.yaml')
  const text = readFileSync(file, 'utf8')
  const [before = '', after = ''] = text.split('\n      operationId: getPet\n')
  const [own = '', components = ''] = after.split('\ncomponents:\n')
  const without = own.replace(/ {8}'404':\n.*\n/, '').replace(/ {8}default:\n.*\n/, '')
  writeFileSync(file, `${before}\n      operationId: getPet\n${without}\ncomponents:\n${components}`)
  const handler = path.join(copy, 'src/handlers/getPet.ts')
  const thrown = readFileSync(handler, 'utf8')
  const mapped = thrown.replace(/if \(pet === undefined\).*/, '')
  for (const text of [
    thrown,
    `${mapped}; f(onConstraint({ a_key: 'invalid_request', b_key: 'pet_not_found' }))`,
    `${mapped}; f(onConstraint({\n  'a key': [\n 'pet_not_found',\n 'No {}.'],\n}))`,
  ]) {
    writeFileSync(handler, text)
    await t.rejects(findDifferences(copy), {
      name: 'ContractError',
      message: 'src/handlers/getPet.ts: throws ApiError pet_not_found, but getPet declares no 404 response',
    })
  }
  writeFileSync(handler, `${mapped}; f(onConstraint({ a_key: ['invalid_request', 'pet_not_found'] }))`)
  await t.resolves(findDifferences(copy))
})

t.test('only used types are imported', async (t) => {
  const bare = `openapi: 3.1.0
info: { title: Bare, version: 1.0.0 }
paths:
  /a: { post: { operationId: a, responses: { '204': { description: Done } } } }
`
  const importsOf = async (text: string) => {
    const contract = await readServiceContract(contractFile, async () => text)
    return /^import .*/m.exec(generateOperations(contract))?.[0]
  }
  t.equal(await importsOf(bare), undefined)
  const query = 'parameters: [{ name: q, in: query, schema: { type: string } }], responses'
  t.equal(await importsOf(bare.replace('responses', query)), "import type { operations } from './types.js'")
})
