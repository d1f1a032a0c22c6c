import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import zlib from 'node:zlib'
import { send } from 'contract-engine/lib/send'
import { contractOf, startEngine } from 'contract-testing/engine'
import t from 'tap'
import { pageDocument } from '../../../src/compile/documents/page-document.js'
import { queryIsMissing } from '../../fixtures/query-method.js'

const contract = await contractOf({
  info: { title: 'Toys <& "Games">', version: '1.0.0' },
  servers: [{ url: 'https://toys.example/v1' }],
  paths: {
    '/toys': {
      get: {
        operationId: 'listToys',
        parameters: [{ name: 'limit', in: 'query', example: 5, schema: { type: 'integer' } }],
        responses: { 204: { description: 'None.' } },
      },
      post: {
        operationId: 'createToy',
        parameters: [{ $ref: '#/components/parameters/Key' }],
        requestBody: { content: { 'application/json': { schema: {}, examples: { ball: { value: 1 } } } } },
        responses: { 204: { description: 'Made.' } },
      },
    },
    '/toys/{id}': {
      get: {
        operationId: 'getToy',
        deprecated: true,
        description: 'A toy.',
        'x-deprecated-at': '2026-11-20',
        'x-sunset': '2030-12-05',
        'x-successor': 'listToys',
        parameters: [{ name: 'id', in: 'path', required: true, example: 5, schema: { type: 'integer' } }],
        responses: { 204: { description: 'It.' } },
      },
    },
  },
  components: {
    schemas: {
      Name: {
        type: 'string',
        description: 'A name.',
        pattern: '^[a-z]+$',
        'x-pattern-description': 'lower case',
      },
    },
    parameters: { Key: { name: 'Key', in: 'header', example: 'a', schema: { type: 'string' } } },
  },
})
const start = () => startEngine(t, contract, {})
const { origin } = await start()

t.test('the root redirects to the page, and all assets of the page exist', async (t) => {
  t.match(await send(`${origin}/`), { status: 302, text: '' })
  t.equal((await send(`${origin}/`)).headers.get('location'), 'docs')
  const page = await send(`${origin}/docs`)
  t.equal(page.status, 200)
  t.match(page.text, `<title>${inHtml(contract.title)}</title>`)
  const names = [...page.text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, name = '']) => name)
  t.equal(names.length, 3)
  for (const name of names) {
    const answer = await send(new URL(name, `${origin}/docs`).href)
    t.equal(answer.status, 200, name)
    t.match(answer.headers.get('content-type'), name.endsWith('.css') ? /^text\/css/ : /^text\/javascript/)
  }
})

function inHtml(text: string): string {
  const entities = [
    ['&', '&amp;'],
    ['<', '&lt;'],
    ['>', '&gt;'],
    ['"', '&quot;'],
  ] as const
  return entities.reduce((all, [character, entity]) => all.replaceAll(character, entity), text)
}

t.test('an operation of the contract at the root takes precedence', async (t) => {
  const operation = { operationId: 'root', responses: { 200: { description: 'OK' } } }
  const small = await contractOf({ paths: { '/': { get: operation } } })
  const { origin } = await startEngine(t, small, { root: async () => ({ status: 200 }) })
  t.match(await send(`${origin}/`), { status: 200, text: '' })
  t.match((await send(`${origin}/docs`)).text, '<title>Values</title>')
})

t.test('the Content-Security-Policy allows no other origin', async (t) => {
  const policy = (await send(`${origin}/docs`)).headers.get('content-security-policy') ?? ''
  t.match(policy, /^default-src 'none'; /)
  t.notMatch(policy, /https?:|\*|unsafe-eval|script-src [^;]*unsafe/)
})

t.test('an unchanged asset is not sent again', async (t) => {
  for (const path of ['/docs', '/docs/page.js', '/openapi.yaml', '/openapi.json', '/openapi-3.0.yaml']) {
    const get = (headers: Record<string, string>) => send(origin + path, 'GET', headers)
    const first = await get({})
    const etag = first.headers.get('etag') ?? ''
    t.equal(first.headers.get('cache-control'), 'no-cache')
    for (const known of [etag, `W/${etag}`, `"a, b", W/"c",${etag}`, '*']) {
      t.match(await get({ 'if-none-match': known }), { status: 304, text: '' }, `${path} ${known}`)
      const head = await send(origin + path, 'HEAD', { 'if-none-match': known })
      t.equal(head.status, 304)
      t.equal(
        head.headers.get('content-length'),
        first.headers.get('content-length'),
        'HEAD has the length of the full response',
      )
    }
    for (const other of ['"other"', 'W/"other", "b"', etag.slice(1, -1), '']) {
      t.match(await get({ 'if-none-match': other }), { status: 200 }, `${path} ${other}`)
    }
  }
})

const codings: [accepted: string, coding: string | null][] = [
  ['', null],
  ['identity', null],
  ['gzip;q=0', null],
  ['gzip; q=0.000, br;q=0', null],
  ['gzip; q=0.000, *', 'br'],
  ['*;q=0', null],
  ['gzip;q=0.5, identity', null],
  ['gzippy', null],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['br;q=0.1, GZIP ;Q=0.2', 'gzip'],
  ['deflate, *;q=0.5', 'br'],
  ['BR, GZIP ;Q=0.1', 'br'],
  ['gzip, deflate, br, zstd', 'br'],
]

t.test('a client gets the coding that it prefers, of equal ones the smaller', async (t) => {
  const etags = new Map<string | null, string | null>()
  for (const [accepted, expected] of codings) {
    const { headers } = await send(`${origin}/docs/page.js`, 'GET', { 'accept-encoding': accepted })
    t.equal(headers.get('content-encoding'), expected, accepted)
    t.equal(headers.get('vary'), 'Accept-Encoding')
    t.equal(
      headers.get('etag'),
      etags.get(expected) ?? headers.get('etag'),
      'each encoding has one entity tag',
    )
    etags.set(expected, headers.get('etag'))
  }
  t.equal(new Set(etags.values()).size, 3, 'and they differ')
  for (const tag of etags.values())
    t.notMatch(tag, /-(gzip|br)"$/, 'none ends as proxies that compress would have it')
  const compressed = { 'accept-encoding': 'gzip', 'if-none-match': etags.get(null) ?? '' }
  t.equal(
    (await send(`${origin}/docs/page.js`, 'GET', compressed)).status,
    200,
    'and do not match each other',
  )
  for (const [coding, most] of [
    ['gzip', 1_000_000],
    ['br', 880_000],
  ] as const) {
    const response = await fetch(`${origin}/docs/scalar.js`, { headers: { 'accept-encoding': coding } })
    t.equal(response.headers.get('content-encoding'), coding)
    t.ok(Number(response.headers.get('content-length')) < most, coding)
    t.ok((await response.text()).includes('createApiReference'), 'and it can be decoded')
  }
})

t.test('the page has the operations in plain HTML', async (t) => {
  const { text } = await send(`${origin}/docs`)
  for (const name of ['GET /toys', 'POST /toys', 'GET /toys/{id}']) {
    const id = name.replace(' ', '-')
    t.match(text, `<li><a href="#${id}">${name}`)
    t.match(text, `<h3 id="${id}">${name}</h3>`)
  }
  t.match(text, '">GET /toys/{id} (deprecated)</a>')
  t.match(
    text,
    '<strong>Deprecated since 2026-11-20. It will be removed on 2030-12-05. Use <code>GET /v1/toys',
  )
  t.match(text, '<li><code>id</code> (path, required): integer.</li>')
  t.match(text, `The paths below follow the base address: ${origin}/v1</p>`)
  t.match(text, '<p>string, lower case. A name.</p>')
  for (const [code, status] of contract.errorStatuses)
    t.match(text, `<td><code>${code}</code> ${status}</td>`)
})

t.test('texts of the contract are escaped on the page', async (t) => {
  const put = {
    operationId: 'put',
    summary: '<i>',
    description: '<b>',
    responses: { 200: { description: '<u>' } },
  }
  const info = { title: '</title><s>', version: '<p>', description: '<script>' }
  const odd = await contractOf({ info, paths: { '/odd"<q>': { put } } })
  const { origin } = await startEngine(t, odd, {})
  const { text } = await send(`${origin}/docs`)
  for (const part of ['i', 'b', 'u', 's', 'script', 'q']) t.match(text, `&lt;${part}&gt;`)
  t.notMatch(text, /<(?:[ibusq]|script)>/)
})

t.test('an example that looks like a parameter or a stream is shown as it is', async (t) => {
  const example = { in: 'query', example: 1, itemSchema: {}, 'x-pattern-description': 'a', pattern: 'b' }
  const fields = { itemSchema: { type: 'string' }, in: { type: 'string' }, example: { type: 'integer' } }
  const content = { 'application/json': { schema: { type: 'object', properties: fields }, example } }
  const operation = { operationId: 'get', responses: { 200: { description: 'It.', content } } }
  const shown = JSON.parse(pageDocument(await contractOf({ paths: { '/a': { get: operation } } }), {}))
  t.strictSame(shown.paths['/a'].get.responses, operation.responses)
})

t.test('an asset is read and compressed once, unless that fails', async (t) => {
  const { read } = fs
  const { gzip } = zlib
  t.teardown(() => {
    Object.assign(fs, { read })
    Object.assign(zlib, { gzip })
    syncBuiltinESMExports()
  })
  let reads = 0
  const failingOnce = (...args: unknown[]) => {
    const done = args.at(-1) as (error: Error) => void
    if (reads++ === 0) return done(new Error('an error of the disk'))
    return Reflect.apply(read, fs, args)
  }
  Object.assign(fs, { read: failingOnce })
  syncBuiltinESMExports()
  const { origin } = await start()
  t.match(await send(`${origin}/docs/page.css`), { status: 500 })
  for (let i = 0; i < 3; i++) t.match(await send(`${origin}/docs/page.css`), { status: 200 })
  t.equal(reads, 2)

  await send(`${origin}/docs`)
  Object.assign(zlib, { gzip: () => t.fail('it is compressed already') })
  syncBuiltinESMExports()
  t.match(await send(`${origin}/docs`), { status: 200 })
})

t.test(
  'the page has tables of errors and deprecations, and no examples for optional parameters',
  async (t) => {
    const { body } = await send(`${origin}/docs/contract.json`)
    const { description } = body.info
    for (const [code, status] of contract.errorStatuses) t.match(description, `| \`${code}\` ${status} | `)
    t.match(description, '| `GET /v1/toys/{id}` | 2026-11-20 | 2030-12-05 | `GET /v1/toys` |')
    t.notMatch(description, /x-|listToys/, 'no names that only the document explains')
    t.strictSame(
      body.paths['/toys/{id}'].get.description,
      '**Deprecated since 2026-11-20. It will be removed on 2030-12-05. Use `GET /v1/toys` instead.**\n\nA toy.',
    )
    const { pattern, description: words } = body.components.schemas.Name
    t.strictSame({ pattern, words }, { pattern: undefined, words: 'A name. It must be lower case.' })
    t.match(description, '(openapi.yaml)')
    t.strictSame(body.servers, [{ url: './v1', description: 'This service' }])
    const { get, post } = body.paths['/toys']
    for (const parameter of [...get.parameters, body.components.parameters.Key])
      t.notOk('example' in parameter, parameter.name)
    t.ok('example' in body.paths['/toys/{id}'].get.parameters[0], 'a required parameter keeps its example')
    t.ok(post.requestBody.content['application/json'].examples)
  },
)

t.test('the document of the page costs little, however long its texts', async (t) => {
  const info = { title: 'A', version: '1.0.0', description: 'a'.repeat(3_000_000) }
  const long = await contractOf({ info, paths: {} })
  const before = process.cpuUsage()
  t.ok(pageDocument(long, {}).length > 3_000_000)
  t.ok(process.cpuUsage(before).user < 1_000_000, 'it took 3 s')
})

t.test(
  'a contract of OpenAPI 3.2 is shown as 3.1, with its other operations and its nested tags',
  { skip: queryIsMissing },
  async (t) => {
    const responses = { 204: { description: 'None.' } }
    const contract = await contractOf({
      openapi: '3.2.0',
      tags: [{ name: 'toys', summary: 'All toys' }, { name: 'balls', parent: 'toys' }, { name: 'others' }],
      paths: {
        '/toys': {
          get: { operationId: 'listToys', tags: ['balls'], responses },
          query: { operationId: 'findToys', summary: 'Finds toys', tags: ['toys'], responses },
          additionalOperations: { COPY: { operationId: 'copyToys', responses } },
        },
      },
    })
    const shown = JSON.parse(pageDocument(contract, {}))
    t.equal(shown.openapi, '3.1.1')
    t.match(
      shown.info.description,
      '| `QUERY /toys` | `findToys` | Finds toys |\n| `COPY /toys` | `copyToys` |  |',
    )
    t.strictSame(shown['x-tagGroups'], [
      { name: 'All toys', tags: ['toys', 'balls'] },
      { name: 'Other', tags: ['others', 'default'] },
    ])
    const { origin } = await startEngine(t, contract, {})
    for (const text of [(await send(`${origin}/docs`)).text, (await send(`${origin}/llms.txt`)).text])
      for (const each of ['QUERY /toys', 'COPY /toys', 'All toys.']) t.match(text, each)
    t.match((await send(`${origin}/llms.txt`)).text, '- `toys`: All toys.\n  - `balls`\n- `others`')
    t.match((await send(`${origin}/openapi-3.1.yaml`)).text, /^openapi: 3\.1\.1\n/)
    t.match((await send(`${origin}/openapi-3.0.yaml`)).text, /^openapi: 3\.0\.3\n/)
    t.match(JSON.parse((await send(`${origin}/openapi.json`)).text), { openapi: '3.2.0' })
  },
)

t.test('the page shows the items of a stream, and what an operation limits itself', async (t) => {
  const item = { type: 'object', properties: { name: { type: 'string' } } }
  const content = { 'application/jsonl': { itemSchema: item } }
  const own = await contractOf({
    'x-limits': { bodyBytes: 2000 },
    paths: {
      '/toys': {
        post: {
          operationId: 'watchToys',
          'x-limits': { bodyBytes: 50_000_000, timeoutMs: 300_000 },
          requestBody: { content: { 'application/json': { schema: {} } } },
          responses: { 200: { description: 'Toys.', content } },
        },
      },
    },
  })
  const page = JSON.parse(pageDocument(own, {}))
  t.strictSame(page.paths['/toys'].post.responses[200].content['application/jsonl'].schema, item)
  t.match(page.info.description, '| body | 2,000 bytes |')
  t.match(page.info.description, '| body of `POST /toys` | 50,000,000 bytes |')
  t.match(page.info.description, '| response of `POST /toys` | within 300,000 ms |')
})
