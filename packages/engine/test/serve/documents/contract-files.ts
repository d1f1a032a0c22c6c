import { gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import t from 'tap'
import { parse } from 'yaml'
import { readContract } from '../../../src/compile/index.js'
import type { AddressOptions } from '../../../src/serve/base/address.js'
import { type Contract, contractFiles } from '../../../src/serve/index.js'

const paths = '{ /a: { get: { operationId: a, responses: { 200: { description: OK } } } } }'
const text = `openapi: 3.1.0 # with a comment
info:
  title: Toys
  version: 1.0.0

servers:
  - url: https://toys.example/v1
    description: Production
paths:
  /toys:
    get:
      operationId: listToys
      responses:
        '200':
          description: OK
`
const contractFrom = (text: string) => readContract('openapi.yaml', async () => text)
const contract = await contractFrom(text)
const files = ['/openapi.yaml', '/openapi.json', '/openapi-3.0.yaml']

type Ask = (path: string, headers?: Record<string, string>) => Promise<string>

async function serve(served: Contract, options?: AddressOptions): Promise<Ask> {
  const app = Fastify()
  contractFiles(app, served, options)
  return async (url, headers = {}) => (await app.inject({ url, headers })).body
}

const written = { url: 'https://toys.example/v1', description: 'Production' }

t.test('each file names the service first, at the address of the request', async (t) => {
  const isProxy = () => true
  for (const [headers, url] of [
    [{ host: 'store.example:8080' }, 'http://store.example:8080/v1'],
    [{ host: '[::1]:3000' }, 'http://[::1]:3000/v1'],
    [{ host: 'a', 'x-forwarded-proto': 'https', 'x-forwarded-prefix': '/store' }, 'https://a/store/v1'],
    [{ host: 'user@a', 'x-forwarded-prefix': '/store' }, '/store/v1'],
    [{ host: 'a"b: c' }, '/v1'],
  ] as const) {
    const textOf = await serve(contract, { isProxy })
    for (const file of files) {
      const { servers } = parse(await textOf(file, headers))
      t.strictSame(servers, [{ url, description: 'This service' }, written], file)
    }
  }
})

t.test('the public URL is the only server of each file, if there is one', async (t) => {
  for (const publicUrl of ['https://store.example/v1', 'https://toys.store.example']) {
    const textOf = await serve(contract, { publicUrl, isProxy: () => true })
    for (const file of files) {
      const { servers } = parse(await textOf(file, { host: 'a', 'x-forwarded-host': 'b' }))
      t.strictSame(servers, [{ url: publicUrl, description: 'This service' }], file)
    }
  }
})

t.test('callers who name different hosts have files and entity tags of their own', async (t) => {
  const app = Fastify()
  contractFiles(app, contract)
  const ask = (host: string, etag = '') =>
    app.inject({ url: '/openapi.yaml', headers: { host, 'if-none-match': etag, 'accept-encoding': 'gzip' } })
  const tags = new Set<unknown>()
  // More than are kept.
  for (let i = 0; i < 25; i++) {
    const { headers, rawPayload } = await ask(`h${i}.example`)
    t.match(String(gunzipSync(rawPayload)), `- url: "http://h${i}.example/v1"\n`)
    tags.add(headers.etag)
    t.equal((await ask(`h${i}.example`, String(headers.etag))).statusCode, 304)
    t.equal((await ask(`other${i}.example`, String(headers.etag))).statusCode, 200)
  }
  t.equal(tags.size, 25)
})

t.test('the YAML is as written but for its first server', async (t) => {
  const served = await (await serve(contract))('/openapi.yaml')
  t.equal(served.replace('  - url: "http://localhost/v1"\n    description: This service\n', ''), text)
  const published = await (await serve(contract, { publicUrl: 'https://a.example' }))('/openapi.yaml')
  t.match(published, 'openapi: 3.1.0 # with a comment\n')
  t.match(published, '\nservers:\n  - url: "https://a.example"\n    description: This service\npaths:\n')
})

const texts: [title: string, text: string, url: string][] = [
  [
    'without servers',
    `openapi: 3.1.0 # new\ninfo: { title: A, version: 1.0.0 }\npaths: ${paths}\n`,
    'http://localhost',
  ],
  [
    'in JSON',
    `{"openapi":"3.1.0","servers":[{"url":"/v2"}],"info":{"title":"A","version":"1.0.0"},"paths":{}}`,
    'http://localhost/v2',
  ],
  [
    'with anchors, a merge and long integers',
    `openapi: 3.1.0
info: { title: A, version: 1.0.0 }
servers: [{ url: https://a.example/v2/, description: &text Toys }]
x-a: &a { b: 9223372036854775807 }
x-c: { <<: *a, d: *text }
paths: ${paths}
`,
    'http://localhost/v2',
  ],
]

for (const [title, text, url] of texts) {
  t.test(`a document ${title} is served whole, with the service as a server`, async (t) => {
    const document = await contractFrom(text)
    const textOf = await serve(document)
    const options = { intAsBigInt: true, merge: true }
    const { servers = [], ...others } = parse(text, options)
    const expected = { servers: [{ url, description: 'This service' }, ...servers], ...others }
    for (const file of files.slice(0, 2)) t.strictSame(parse(await textOf(file), options), expected, file)
    const publicUrl = 'https://a.example/v2'
    const published = await serve(document, { publicUrl })
    const only = { ...expected, servers: [{ url: publicUrl, description: 'This service' }] }
    for (const file of files.slice(0, 2)) t.strictSame(parse(await published(file), options), only, file)
  })
}
