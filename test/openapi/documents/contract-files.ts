import Fastify from 'fastify'
import t from 'tap'
import { parse } from 'yaml'
import { type Contract, contractFiles, readContract } from '../../../src/openapi/index.js'

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

async function serve(served: Contract, publicUrl?: string): Promise<(path: string) => Promise<string>> {
  const app = Fastify()
  contractFiles(app, served, publicUrl)
  return async (path) => (await app.inject(path)).body
}

t.test('each file names the service first, relative to itself', async (t) => {
  const textOf = await serve(contract)
  for (const file of files) {
    const { servers } = parse(await textOf(file))
    const written = { url: 'https://toys.example/v1', description: 'Production' }
    t.strictSame(servers, [{ url: './v1', description: 'This service' }, written], file)
    t.equal(new URL(servers[0].url, `https://store.example/store${file}`).pathname, '/store/v1')
  }
})

t.test('each file names the public URL first, if there is one', async (t) => {
  const textOf = await serve(contract, 'https://store.example/v1')
  for (const file of files) t.equal(parse(await textOf(file)).servers[0].url, 'https://store.example/v1')
})

t.test('the YAML is as written but for its first server', async (t) => {
  const served = await (await serve(contract))('/openapi.yaml')
  t.equal(served.replace('  - url: ./v1\n    description: This service\n', ''), text)
})

const texts: [title: string, text: string, url: string][] = [
  ['without servers', `openapi: 3.1.0 # new\ninfo: { title: A, version: 1.0.0 }\npaths: ${paths}\n`, '.'],
  [
    'in JSON',
    `{"openapi":"3.1.0","servers":[{"url":"/v2"}],"info":{"title":"A","version":"1.0.0"},"paths":{}}`,
    './v2',
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
    './v2',
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
  })
}
