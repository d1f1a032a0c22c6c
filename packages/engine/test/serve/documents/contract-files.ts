import { gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { stringify as stringifyLossless } from 'lossless-json'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { readContract } from '../../../src/compile/index.js'
import { type Contract, contractFiles } from '../../../src/index.js'
import type { AddressOptions } from '../../../src/serve/paths/address.js'

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
const files = ['/openapi.yaml', '/openapi.json', '/openapi-3.0.yaml', '/openapi-3.0.json']

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
  // More than the server keeps.
  for (let i = 0; i < 25; i++) {
    const { headers, rawPayload } = await ask(`h${i}.example`)
    t.match(String(gunzipSync(rawPayload)), `- url: "http://h${i}.example/v1"\n`)
    tags.add(headers.etag)
    t.equal((await ask(`h${i}.example`, String(headers.etag))).statusCode, 304)
    t.equal((await ask(`other${i}.example`, String(headers.etag))).statusCode, 200)
  }
  t.equal(tags.size, 25)
})

const relative: [title: string, servers: string, url: string, kept: readonly string[]][] = [
  ['the root', '[{ url: / }]', '', []],
  ['a path', '[{ url: /v1 }]', '/v1', []],
  ['a path with a variable', "[{ url: '/{v}', variables: { v: { default: v1 } } }]", '/v1', []],
  [
    'a path between hosts',
    '[{ url: https://a/v1 }, { url: v2 }, { url: //b/v1 }]',
    '/v1',
    ['https://a/v1', '//b/v1'],
  ],
  [
    'a host in a variable',
    "[{ url: '{at}/v1', variables: { at: { default: 'http://c' } } }]",
    '/v1',
    ['{at}/v1'],
  ],
]

for (const [title, servers, prefix, kept] of relative)
  t.test(`below a prefix, a server that is ${title} is left out unless it has a host`, async (t) => {
    const document = await contractFrom(
      `openapi: 3.1.0\ninfo: { title: A, version: 1.0.0 } # a\nservers: ${servers}\npaths: ${paths}\n`,
    )
    const written = (parse(document.text) as { servers: { url: string }[] }).servers.map(({ url }) => url)
    const app = Fastify()
    await app.register(async (scope) => contractFiles(scope, document), { prefix: '/api' })
    const below = async (url: string) => (await app.inject(url)).body
    const behind = await serve(document, { isProxy: () => true })
    for (const file of files) {
      const urlsOf = (text: string) => parse(text).servers.map(({ url }: { url: string }) => url)
      t.strictSame(urlsOf(await below(`/api${file}`)), [`http://localhost/api${prefix}`, ...kept], file)
      const forwarded = await behind(file, { host: 'b', 'x-forwarded-prefix': '/store' })
      t.strictSame(urlsOf(forwarded), [`http://b/store${prefix}`, ...kept], `${file} behind a gateway`)
      const there = await behind(file, { host: 'b' })
      t.strictSame(urlsOf(there), [`http://b${prefix}`, ...written], `${file} where the contract has them`)
    }
    t.match(await below('/api/openapi.yaml'), ' # a\n', 'else it is as written')
  })

t.test('the YAML is as written but for its first server', async (t) => {
  const served = await (await serve(contract))('/openapi.yaml')
  t.equal(served.replace('  - url: "http://localhost/v1"\n    description: This service\n', ''), text)
  const published = await (await serve(contract, { publicUrl: 'https://a.example' }))('/openapi.yaml')
  t.match(published, 'openapi: 3.1.0 # with a comment\n')
  t.match(published, '\nservers:\n  - url: "https://a.example"\n    description: This service\npaths:\n')
})

// Texts that readers of YAML 1.1 take for booleans, dates, times, numbers, a merge or Ruby's symbols; and
// characters that end a line in YAML 1.1, or are forbidden there.
const misread = [
  ...['NO', 'on', 'Off', 'y', 'N', 'Yes', 'true', 'null', '~', '', '2024-01-01', '2024-1-1 1:02:03'],
  ...['12:30:45', '1:2', '1_000', '0b11', '017', '0o17', '0x1F', '1e3', '1e+21', '.5', '5.', '+1', '1,000'],
  ...[
    '.inf',
    '.NaN',
    '=',
    '<<',
    ':symbol',
    '-',
    '? a',
    'a: b',
    'a #b',
    'a:',
    ' a',
    'a\nb\n',
    '%a',
    '@a',
    '`a',
  ],
  ...['a\u0085b', 'a\u2028b\nc', 'a\u2029', '\ufeffa', 'a\x7f', '\u0080', '😀', 'café', '1.0.0'],
]
const misreadDocument = {
  openapi: '3.2.0',
  info: { title: 'NO', version: '1.0' },
  paths: {
    '/a': {
      get: {
        operationId: 'on',
        parameters: misread.slice(0, 11).map((name) => ({
          name: name || 'a',
          in: 'query',
          schema: { type: 'string', enum: misread, default: name },
        })),
        responses: { 200: { description: '2024-01-01' } },
      },
    },
  },
  components: {
    schemas: {
      No: {
        type: 'object',
        properties: Object.fromEntries(misread.map((name) => [name, { type: 'string' }])),
      },
      On: { type: 'number', enum: [1e21, 1e-7, 17, 1.5e300, -0.5, 9007199254740993n] },
    },
  },
}

const handWritten = `openapi: 3.2.0 # NO
info: { title: no, version: 2024-01-01 }
x-numbers: [0o17, 1e3, 0x1F, 1.50, -0, 1_000, 12:30:45, 017, ~, True]
x-a: &on { y: on }
x-b: { <<: *on }
x-c: { '<<': y }
paths:
  ? /on
  : { get: { operationId: yes, responses: { 200: { description: 2024-01-01 } } } }
`

for (const [title, text] of [
  ['in YAML', stringify(misreadDocument)],
  ['in JSON', String(stringifyLossless(misreadDocument))],
  ['as an author writes it', handWritten],
  ['in two files', stringify({ ...misreadDocument, 'x-a': { $ref: './b.yaml#/a' } })],
] as const) {
  t.test(`readers of YAML 1.1 and of 1.2 read the same in each file, of a contract ${title}`, async (t) => {
    const other = 'a: { enum: [NO, 2024-01-01] }\n'
    const served = await readContract('openapi.yaml', async (file) =>
      file.endsWith('b.yaml') ? other : text,
    )
    const ask = await serve(served, { publicUrl: 'https://a.example' })
    for (const file of ['/openapi.yaml', '/openapi-3.1.yaml', '/openapi-3.0.yaml']) {
      const yaml = await ask(file)
      const read = (version: '1.1' | '1.2') => parse(yaml, { version, intAsBigInt: true, merge: true })
      t.strictSame(read('1.1'), read('1.2'), file)
      if (file !== '/openapi.yaml') continue
      t.strictSame(read('1.2'), parse(await ask('/openapi.json'), { intAsBigInt: true }))
    }
  })
}

t.test('a text that only some readers of YAML misread is in quotes, too', async (t) => {
  const yaml = await (await serve(await contractFrom(stringify(misreadDocument))))('/openapi-3.0.yaml')
  for (const text of ['=', ':symbol', '1:2', '1,000', '2024-1-1 1:02:03', '<<']) {
    t.match(yaml, ` "${text}"\n`)
    t.notMatch(yaml, ` ${text}\n`)
  }
  t.match(yaml, ' "a\\u0085b"\n')
  t.match(yaml, ' "a\\u2028b\\nc"\n')
  t.match(yaml, ' 1.0e+21\n')
})

t.test('each version has a path, but for those that the contract is too old for', async (t) => {
  const version = '"?openapi"?: ?"?'
  for (const [own, expected] of [
    ['3.2.0', { '/openapi.yaml': '3.2.0', '/openapi-3.1.yaml': '3.1.1', '/openapi-3.0.json': '3.0.3' }],
    ['3.1.0', { '/openapi.yaml': '3.1.0', '/openapi-3.1.yaml': '3.1.0', '/openapi-3.0.json': '3.0.3' }],
    ['3.0.3', { '/openapi.yaml': '3.0.3', '/openapi-3.0.json': '3.0.3', '/openapi-3.0.yaml': '3.0.3' }],
  ] as const) {
    const ask = await serve(await contractFrom(text.replace('3.1.0', own)))
    for (const [path, found] of Object.entries(expected))
      t.match(await ask(path), new RegExp(version + literal(found)), `${path} of ${own}`)
    t.equal(/not found/i.test(await ask('/openapi-3.1.yaml')), own === '3.0.3')
    t.strictSame(JSON.parse(await ask('/openapi-3.0.json')), parse(await ask('/openapi-3.0.yaml')))
  }
})

function literal(text: string): string {
  return text.replaceAll('.', '\\.')
}

t.test('references by $self are local ones in each file', async (t) => {
  const $self = 'https://toys.example/contracts/openapi.yaml'
  const schema = `{ $ref: '${$self}#/components/schemas/Toy' }`
  const ok = `{ 200: { description: OK, content: { application/json: { schema: ${schema} } } } }`
  const served = await contractFrom(`openapi: 3.2.0
$self: ${$self}
info: { title: A, version: 1.0.0 }
paths: { /a: { get: { operationId: a, responses: ${ok} } } }
components: { schemas: { Toy: { type: object } } }
`)
  const ask = await serve(served)
  for (const file of [...files, '/openapi-3.1.yaml'])
    t.strictSame(
      [...(await ask(file)).matchAll(/\$ref"?: *["'](.*?)["']/g)].map(([, ref]) => ref),
      ['#/components/schemas/Toy'],
    )
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
