import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { temporaryDirectory } from 'contract-testing/directory'
import { isNightly } from 'contract-testing/nightly'
import { parse } from 'lossless-json'
import t from 'tap'
import { pageDocument } from '../../../src/compile/documents/page-document.js'
import { readContract } from '../../../src/compile/index.js'

const run = promisify(execFile)
const marker = 'https://this-service.invalid'
const long = '9223372036854775807'
// biome-ignore lint/suspicious/noTemplateCurlyInString: what templates of JavaScript would replace
const odd = 'a "b" \\ `c` ${d} é \u2028 %s """'

const document = `{
  "openapi": "3.1.0", "info": { "title": "Samples", "version": "1.0.0" }, "servers": [{ "url": "/v1" }],
  "security": [{ "key": [] }],
  "paths": { "/toys/{id}": {
    "parameters": [{ "in": "path", "name": "id", "required": true, "example": ${long}, "schema": { "type": "integer", "format": "int64" } }],
    "post": {
      "operationId": "addToy",
      "parameters": [
        { "in": "query", "name": "q", "required": true, "example": "a b&c=d", "schema": { "type": "string" } },
        { "in": "query", "name": "tags", "required": true, "example": ["x", "y"], "schema": { "type": "array", "items": { "type": "string" } } },
        { "in": "query", "name": "optional", "schema": { "type": "string" } },
        { "in": "header", "name": "X-Note", "required": true, "example": "say \\"hi\\"", "schema": { "type": "string" } }
      ],
      "requestBody": { "required": true, "content": { "application/json": {
        "schema": { "type": "object" }, "example": { "id": ${long}, "text": ${JSON.stringify(odd)} }
      } } },
      "responses": { "200": { "description": "OK" } }
    },
    "get": { "operationId": "getToy", "responses": { "200": { "description": "OK" } } },
    "patch": {
      "operationId": "watchToy", "requestBody": { "required": true, "content": { "application/json": { "schema": { "const": "it's" } } } },
      "responses": { "200": { "description": "OK", "content": {
        "application/x-ndjson": { "schema": { "type": "object" } }, "application/json": { "schema": {} }
      } } }
    },
    "delete": {
      "operationId": "deleteToy", "security": [{ "login": [], "header": [], "query": [], "cookie": [] }, { "key": [] }],
      "responses": { "200": { "description": "OK" } }
    }
  } },
  "components": { "securitySchemes": {
    "key": { "type": "http", "scheme": "bearer" },
    "login": { "type": "http", "scheme": "basic" },
    "header": { "type": "apiKey", "in": "header", "name": "X-Key" },
    "query": { "type": "apiKey", "in": "query", "name": "api key" },
    "cookie": { "type": "apiKey", "in": "cookie", "name": "sid" }
  } }
}`

interface Received {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly key: string | undefined
  readonly note: unknown
  readonly header: unknown
  readonly cookie: string | undefined
  readonly body: string
}

const commands: Record<string, (file: string) => [file: string, command: string, args: string[]]> = {
  javascript: (folder) => [path.join(folder, 'a.mjs'), process.execPath, ['a.mjs']],
  python: (folder) => [path.join(folder, 'a.py'), 'python3', ['a.py']],
  ...(isNightly && {
    go: (folder) => [path.join(folder, 'a.go'), 'go', ['run', 'a.go']],
    java: (folder) => [path.join(folder, 'Main.java'), 'java', ['Main.java']],
  }),
}

const shell: typeof commands = { shell: (folder) => [path.join(folder, 'a.sh'), 'sh', ['a.sh']] }

const probes: Record<string, string[]> = { go: ['version'], python: ['-c', 'import requests'] }

for (const [lang, commandIn] of Object.entries(commands)) {
  const [, program] = commandIn('.')
  const isMissing = await run(program, probes[lang] ?? ['--version']).then(
    () => false,
    () => `${program}, or what the sample imports, is not installed`,
  )
  t.test(`the sample in ${lang} sends exactly the request`, { skip: isMissing }, async (t) => {
    const received: Received[] = []
    const server = createServer(async (request, response) => {
      const { method, url, headers } = request
      const body = Buffer.concat(await request.toArray()).toString()
      const { authorization: key, 'x-note': note, 'x-key': header, cookie } = headers
      received.push({ method, url, key, note, header, cookie, body })
      response.end(`{"id":${long}}`)
    }).listen(0, '127.0.0.1')
    t.teardown(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const operations = (await pageOf(document)).paths['/toys/{id}']
    const [file, command, args] = commandIn(temporaryDirectory(t))
    for (const method of ['post', 'get', 'delete']) {
      const { source } = operations[method]['x-codeSamples'].find(
        (each: { lang: string }) => each.lang === lang,
      )
      await writeFile(file, source.replaceAll(marker, `http://127.0.0.1:${port}/v1`))
      const { stdout } = await run(command, args, { cwd: path.dirname(file) })
      t.equal(stdout.trim(), `200 {"id":${long}}`, 'and prints the response')
    }
    const [post, get, deletion] = received
    const key = 'Bearer YOUR_KEY'
    t.match(post, {
      method: 'POST',
      url: `/v1/toys/${long}?q=a%20b%26c%3Dd&tags=x&tags=y`,
      key,
      note: 'say "hi"',
    })
    const { id, text } = parse(String(post?.body)) as { id: unknown; text: string }
    t.strictSame([String(id), text], [long, odd])
    t.match(get, { method: 'GET', url: `/v1/toys/${long}`, key, note: undefined, body: '' })
    t.match(deletion, {
      method: 'DELETE',
      url: `/v1/toys/${long}?api%20key=YOUR_KEY`,
      key: `Basic ${btoa('YOUR_USERNAME:YOUR_PASSWORD')}`,
      header: 'YOUR_KEY',
      cookie: 'sid=YOUR_KEY',
    })
  })
}

for (const [lang, commandIn] of Object.entries({ ...commands, ...shell })) {
  const [, program] = commandIn('.')
  const probe = lang === 'shell' ? run('curl', ['--version']) : run(program, probes[lang] ?? ['--version'])
  const isMissing = await probe.then(
    () => false,
    () => `${program}, or what the sample uses, is not installed`,
  )
  t.test(
    `the sample in ${lang} shows an item before the next one is sent`,
    { skip: isMissing },
    async (t) => {
      let sendNext = () => {}
      let received: object = {}
      const server = createServer(async (request, response) => {
        const { accept, authorization } = request.headers
        received = { accept, authorization, body: Buffer.concat(await request.toArray()).toString() }
        response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).write('{"id":"é1"}\n')
        sendNext = () => response.end('{"id":2}\n')
      }).listen(0, '127.0.0.1')
      t.teardown(() => server.close())
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const { patch } = (await pageOf(document)).paths['/toys/{id}']
      const { source } = patch['x-codeSamples'].find((each: { lang: string }) => each.lang === lang)
      const [file, command, args] = commandIn(temporaryDirectory(t))
      await writeFile(file, source.replaceAll(marker, `http://127.0.0.1:${port}/v1`))
      const child = spawn(command, args, { cwd: path.dirname(file), stdio: ['ignore', 'pipe', 'inherit'] })
      let printed = ''
      for await (const text of child.stdout.setEncoding('utf8')) {
        printed += text
        if (printed.includes('é1')) sendNext()
      }
      t.match(printed.replace(/\n+/g, '\n'), /^(200\n)?\{"id":"é1"\}\n\{"id":2\}\n$/)
      t.strictSame(received, {
        accept: 'application/x-ndjson',
        authorization: 'Bearer YOUR_KEY',
        body: `"it's"`,
      })
    },
  )
}

// biome-ignore lint/suspicious/noExplicitAny: any member of a document
async function pageOf(text: string): Promise<any> {
  return JSON.parse(pageDocument(await readContract('openapi.json', async () => text), {}))
}

t.test("a request without a text has no sample, and an author's own stay", async (t) => {
  const json = (schema: object) => ({ content: { 'application/json': { schema } } })
  const responses = { 204: { description: 'None' } }
  const bytes = { required: true, content: { 'application/octet-stream': {} } }
  const filter = { in: 'query', name: 'f', required: true, style: 'deepObject', schema: { type: 'object' } }
  const own = [{ lang: 'sh', source: 'call' }]
  const node = {
    type: 'object',
    required: ['id', 'at', 'kind', 'next', 'list', 'all', 'any', 'is', 'no', 'some'],
    properties: {
      id: { type: 'integer', minimum: 5 },
      at: { type: 'string', format: 'date' },
      kind: { enum: ['a', 'b'] },
      next: { $ref: '#/components/schemas/Node' },
      list: { type: 'array', items: { const: 7 } },
      all: { allOf: [{ required: ['x'], properties: { x: { default: 1 } } }] },
      any: { anyOf: [{ type: 'number' }, { type: 'string' }] },
      is: { type: 'boolean' },
      no: { type: ['null', 'string'] },
      some: { type: 'string' },
      left: { type: 'string' },
    },
  }
  const page = await pageOf(
    JSON.stringify({
      openapi: '3.1.0',
      info: { title: 'A', version: '1.0.0' },
      paths: {
        '/bytes': { put: { operationId: 'putBytes', requestBody: bytes, responses } },
        '/filter': { get: { operationId: 'filter', parameters: [filter], responses } },
        '/own': { get: { operationId: 'own', 'x-codeSamples': own, responses } },
        '/node': {
          put: { operationId: 'put', requestBody: json({ $ref: '#/components/schemas/Node' }), responses },
        },
      },
      components: { schemas: { Node: node } },
    }),
  )
  t.equal(page.paths['/bytes'].put['x-codeSamples'], undefined)
  t.equal(page.paths['/filter'].get['x-codeSamples'], undefined)
  t.strictSame(page.paths['/own'].get['x-codeSamples'], own)
  const [{ source }] = page.paths['/node'].put['x-codeSamples']
  const { next, ...value } = JSON.parse(/body: `([^`]+)`/.exec(source)?.[1] ?? '')
  const expected = {
    id: 5,
    at: '2026-11-25',
    kind: 'a',
    list: [7],
    all: { x: 1 },
    any: 1,
    is: true,
    no: 'text',
  }
  t.strictSame(value, { ...expected, some: 'text' })
  t.equal(next.next.next.next.next.next, undefined, 'a schema that contains itself ends')
})

t.test('a sample stays small, whatever the schema', async (t) => {
  const names = [...'abcdefgh']
  const properties = Object.fromEntries(names.map((name) => [name, { $ref: '#/components/schemas/Wide' }]))
  const schema = { $ref: '#/components/schemas/Wide' }
  const requestBody = { required: true, content: { 'application/json': { schema } } }
  const put = { operationId: 'put', requestBody, responses: { 204: { description: 'None' } } }
  const page = await pageOf(
    JSON.stringify({
      openapi: '3.1.0',
      info: { title: 'A', version: '1.0.0' },
      paths: { '/wide': { put } },
      components: { schemas: { Wide: { type: 'object', required: names, properties } } },
    }),
  )
  const [{ source }] = page.paths['/wide'].put['x-codeSamples']
  t.ok(source.length < 100_000, `${source.length} characters`)
})
