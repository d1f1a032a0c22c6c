import fs from 'node:fs'
import { readFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { fileURLToPath } from 'node:url'
import zlib from 'node:zlib'
import Fastify from 'fastify'
import type { BrowserContextOptions } from 'playwright-core'
import t, { type Test } from 'tap'
import type { Handlers } from '../../../src/handlers/handler.js'
import { contractFile } from '../../../src/lib/paths.js'
import { addDocumentation, readContract } from '../../../src/openapi/index.js'
import { browserIsMissing, openPage } from '../../fixtures/browser.js'
import { deprecation, fixedPlan, prefix, status } from '../../fixtures/facts.js'
import { contract, type Service, send, startService } from '../../fixtures/service.js'

t.test('the root redirects to the page, and all assets of the page exist', async (t) => {
  const { origin } = await startService(t)
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
  const text = `openapi: 3.1.0
info: { title: Small, version: 1.0.0 }
paths:
  /: { get: { operationId: listPets, responses: { '200': { description: OK } } } }
`
  const small = await readContract(contractFile, async () => text)
  const { origin } = await startService(t, {
    contract: small,
    handlers: { listPets: async () => ({ status: 200 }) } as unknown as Handlers,
  })
  t.match(await send(`${origin}/`), { status: 200, text: '' })
  t.match((await send(`${origin}/docs`)).text, '<title>Small</title>')
})

t.test('the Content-Security-Policy allows no other origin', async (t) => {
  const { origin } = await startService(t)
  const policy = (await send(`${origin}/docs`)).headers.get('content-security-policy') ?? ''
  t.match(policy, /^default-src 'none'; /)
  t.notMatch(policy, /https?:|\*|unsafe-eval|script-src [^;]*unsafe/)
})

t.test('an unchanged asset is not sent again', async (t) => {
  const { origin } = await startService(t)
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
  ['gzip; q=0.000, *', null],
  ['*;q=0', null],
  ['gzip;q=0.5, identity', null],
  ['gzippy', null],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['br, GZIP ;Q=0.1', 'gzip'],
  ['deflate, *;q=0.5', 'gzip'],
]

t.test('only a client that accepts gzip gets it', async (t) => {
  const { origin } = await startService(t)
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
  t.not(etags.get('gzip'), etags.get(null), 'and they differ')
  const compressed = { 'accept-encoding': 'gzip', 'if-none-match': etags.get(null) ?? '' }
  t.equal(
    (await send(`${origin}/docs/page.js`, 'GET', compressed)).status,
    200,
    'and do not match each other',
  )
  const response = await fetch(`${origin}/docs/scalar.js`, {
    headers: { 'accept-encoding': 'gzip' },
  })
  t.ok(Number(response.headers.get('content-length')) < 1_100_000)
  await response.arrayBuffer()
})

t.test('an asset is read and compressed once, unless that fails', async (t) => {
  const { origin } = await startService(t)
  const { readFile } = fs.promises
  const { gzip } = zlib
  t.teardown(() => {
    Object.assign(fs.promises, { readFile })
    Object.assign(zlib, { gzip })
    syncBuiltinESMExports()
  })
  let reads = 0
  Object.assign(fs.promises, {
    readFile: async (...args: Parameters<typeof readFile>) => {
      if (reads++ === 0) throw new Error('too many open files')
      return readFile(...args)
    },
  })
  syncBuiltinESMExports()
  t.match(await send(`${origin}/docs/page.css`), { status: 500 })
  for (let i = 0; i < 3; i++) t.match(await send(`${origin}/docs/page.css`), { status: 200 })
  t.equal(reads, 2)

  await send(`${origin}/docs`)
  Object.assign(zlib, { gzip: () => t.fail('it is compressed already') })
  syncBuiltinESMExports()
  t.match(await send(`${origin}/docs`), { status: 200 })
})

t.test(
  'the page has tables of plans, errors and deprecations, and no examples for optional parameters',
  async (t) => {
    const { origin } = await startService(t)
    const { body } = await send(`${origin}/docs/contract.json`)
    const { description } = body.info
    const { name, perMinute, perDay } = fixedPlan
    t.match(description, `| ${name} | ${perMinute} | ${perDay.toLocaleString('en')} |`)
    for (const [code, status] of contract.errorStatuses) t.match(description, `| \`${code}\` ${status} | `)
    t.match(
      description,
      `| ${new Date(Number(deprecation.deprecation.slice(1)) * 1000).toISOString().slice(0, 10)} |`,
    )
    t.match(description, '(openapi.yaml)')
    t.notMatch(description, /x-|listPets/, 'no names that only the document explains')
    const read = body.paths['/pets/{petId}'].get
    t.match(read.description, new RegExp(`removed on \\d{4}-\\d\\d-\\d\\d\\. Use \`GET ${prefix}/pets\``))
    t.strictSame(body.components.schemas.PetName.pattern, undefined)
    t.match(body.components.schemas.PetName.description, /It must be free of NUL\.$/)
    t.strictSame(body.servers, [{ url: `.${prefix}`, description: 'This service' }])
    const { get, post } = body.paths['/pets']
    for (const parameter of [...get.parameters, body.components.parameters.IdempotencyKey])
      t.notOk('example' in parameter, parameter.name)
    t.ok('example' in body.paths['/pets/{petId}'].get.parameters[0], 'a required parameter keeps its example')
    t.ok(post.requestBody.content['application/json'].examples)
  },
)

// Waits for animations to finish, except endless ones such as a caret.
const untilStill = `Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().endTime < Infinity)
  .map(({ finished }) => finished)).then(() => {})`

// Only violations: by default, axe also returns every element that passes.
const findViolations = `axe.run({
  resultTypes: ['violations'],
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
}).then(({ violations }) => violations)`

const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

for (const [width, height, colorScheme] of [
  [1280, 900, 'light'],
  [390, 844, 'dark'],
] as const) {
  const title = `at ${width} px, opened ${colorScheme}, a visitor enters a key once and adds two animals`
  t.test(title, { skip: browserIsMissing }, async (t) => {
    const service = await startService(t)
    const { page, elsewhere, complaints } = await open(t, service, {
      viewport: { width, height },
      colorScheme,
    })
    await page.goto(`${service.origin}/`)
    await page.getByText('Error codes').first().waitFor()
    await page.locator(`body.${colorScheme}-mode`).waitFor()
    await page.locator('button:has-text("Test Request")').first().waitFor()
    await page.evaluate(`${axe};0`)
    // The page follows the system's colors.
    const violations = async () => {
      const found: Violation[] = []
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.locator(`body.${colorScheme}-mode`).waitFor()
        await page.evaluate(untilStill)
        found.push(...((await page.evaluate(findViolations)) as Violation[]))
      }
      return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`)
    }
    t.strictSame(await violations(), [], 'the page is accessible')
    await page.locator('button:has-text("A page of animals")').first().click()
    await page.getByText('Show Headers').first().click()
    await page.getByText('Hide Headers').first().waitFor()
    t.strictSame(await violations(), [], 'the headers are accessible')
    if (width > 1000) {
      await page.locator('button:has-text("Search")').first().click()
      await page.locator('input[role=combobox]').waitFor()
      t.strictSame(await violations(), [], 'the search is accessible')
      await page.keyboard.press('Escape')
      await page.locator('input[role=combobox]').waitFor({ state: 'hidden' })
    }
    await page.locator('#skip').focus()
    await page.keyboard.press('Enter')
    t.match(
      await page.evaluate('document.activeElement.innerText'),
      'Test Request',
      'a link skips to a request',
    )
    const overhang = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')
    t.equal(overhang, 0, 'the page does not scroll sideways')
    const broken = await page
      .locator('.markdown td code')
      .evaluateAll((all) => all.filter((each) => each.getClientRects().length > 1).map((e) => e.textContent))
    const brokenCodes = broken.filter((text) => contract.errorStatuses.has(text ?? ''))
    if (width > 1000) t.strictSame(brokenCodes, [], 'error codes do not wrap')

    await page.getByPlaceholder('Token').first().fill(service.key)
    await page.locator('button:has-text("Test Request")').nth(1).focus()
    await page.keyboard.press('Enter')
    const client = page.locator('[role=dialog]').first()
    const send = client.locator('button:has-text("Send")').first()
    t.strictSame(await violations(), [], 'the request dialog is accessible')
    await send.click()
    await client.getByText('"id": 1,').first().waitFor()
    t.strictSame(await violations(), [], 'the response is accessible')
    await client.locator('.cm-content[contenteditable=true]').last().click()
    await page.keyboard.press('Control+A')
    await page.keyboard.insertText(`{"name":"Rex","categoryId":9223372036854775807,"status":"${status}"}`)
    // The editor passes on its text with a delay.
    let shown = ''
    for (let id = 2; !shown.includes('"categoryId": 9223372036854775807,'); id++) {
      await send.click()
      await client.getByText(`"id": ${id},`).first().waitFor()
      shown = await client.innerText()
    }
    t.match(shown, '201 Created')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape') // the first one leaves the field
    await client.waitFor({ state: 'hidden' })
    t.strictSame(await violations(), [], 'the page is accessible after the dialog closes')
    t.match(await page.evaluate('document.activeElement.innerText'), 'Test Request', 'the focus returns')
    const rows = await service.sql`select distinct category_id from pets order by 1`
    t.strictSame(
      rows.map((row) => row.category_id),
      [3n, 9223372036854775807n],
      'the integer is exact in the request, too',
    )
    t.strictSame(elsewhere, [], 'no request to another origin')
    t.strictSame(complaints, [], 'no errors in the console')
  })
}

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}

t.test('the page says that it loads', { skip: browserIsMissing }, async (t) => {
  const service = await startService(t)
  const { page } = await open(t, service, { viewport: { width: 1280, height: 900 } })
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route('**/scalar.js', async (route) => {
    await released
    await route.continue()
  })
  await page.goto(`${service.origin}/docs`, { waitUntil: 'commit' })
  await page.getByText('Loading the reference').waitFor()
  release()
  await page.getByText('Loading the reference').waitFor({ state: 'detached' })
})

t.test('the page warns in a browser that rounds integers', { skip: browserIsMissing }, async (t) => {
  const service = await startService(t)
  const { page } = await open(t, service, { viewport: { width: 1280, height: 900 } })
  await page.addInitScript('delete JSON.rawJSON')
  await page.goto(`${service.origin}/docs`)
  t.match(await page.locator('#rounding').innerText(), /rounds integers/)
  t.ok(await page.locator('#rounding').isVisible())
})

const long = [
  '9223372036854775807',
  '9223372036854775805',
  '-9223372036854775808',
  '9007199254740993',
] as const
const [pathId, queryId, bodyId, nestedId] = long
const exactContract = `openapi: 3.1.0
info: { title: Exact, version: 1.0.0 }
servers: [{ url: /v1 }]
paths:
  /toys/{id}:
    post:
      operationId: addToy
      parameters:
        - { in: path, name: id, required: true, example: ${pathId}, schema: { type: integer, format: int64 } }
        - { in: query, name: q, required: true, example: ${queryId}, schema: { type: integer, format: int64 } }
      requestBody:
        content:
          application/json:
            schema: { type: object }
            example: { id: ${bodyId}, ids: [{ id: ${nestedId} }] }
      responses: { '200': { description: OK } }
`

t.test(
  'integers beyond 2^53 are exact in the request, the response and every sample',
  {
    skip: browserIsMissing,
  },
  async (t) => {
    const app = Fastify()
    addDocumentation(app, await readContract('openapi.yaml', async () => exactContract))
    app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) =>
      done(null, text),
    )
    const received: unknown[] = []
    app.post('/v1/toys/*', async ({ url, body }, reply) => {
      received.push([url, String(body).replace(/\s/g, '')])
      return reply.type('application/json').send(body)
    })
    t.teardown(() => app.close())
    const origin = await app.listen({ host: '127.0.0.1', port: 0 })
    const { page, complaints } = await open(t, { origin }, { viewport: { width: 1280, height: 900 } })
    await page.goto(`${origin}/docs`)
    const card = page.locator('.scalar-card').filter({ hasText: 'Test Request' })
    const picker = card.getByTestId('client-picker')
    const options = page.getByRole('option')
    await picker.click()
    await options.first().waitFor()
    const count = await options.count()
    const names: string[] = []
    for (let i = 0; i < count; i++) {
      if (i > 0) await picker.click()
      await options.nth(i).click()
      await options.first().waitFor({ state: 'detached' })
      const name = await picker.innerText()
      names.push(name)
      const sample = await card.innerText()
      for (const id of long) t.match(sample, id, `${name} has ${id}`)
    }
    t.strictSame(names, [
      ...['C# HttpClient', 'Dart Http', 'F# HttpClient', 'HTTP HTTP/1.1'],
      ...['Python Requests', 'Python HTTPX (Sync)', 'Python HTTPX (Async)', 'Shell Curl'],
    ])
    await card.locator('button:has-text("Test Request")').click()
    const dialog = page.locator('[role=dialog]').first()
    await dialog.locator('button:has-text("Send")').first().click()
    const shown = dialog.locator('.cm-content').filter({ hasText: `"id": ${bodyId},` })
    await shown.nth(1).waitFor() // the request's, and the response's
    t.match(await shown.nth(1).innerText(), `"id": ${nestedId}`)
    t.strictSame(received, [
      [`/v1/toys/${pathId}?q=${queryId}`, `{"id":${bodyId},"ids":[{"id":${nestedId}}]}`],
    ])
    t.strictSame(complaints, [])
  },
)

// Opens a page, and records its requests to other origins and the errors of the browser.
async function open(t: Test, { origin }: Pick<Service, 'origin'>, options: BrowserContextOptions) {
  const page = await openPage(t, options)
  const elsewhere: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith('data:'))
      elsewhere.push(request.url())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  // The console also lists the 4xx responses that the test provokes.
  page.on('console', (message) => {
    const isRefusal = /status of 4\d\d/.test(message.text())
    if (message.type() === 'error' && !isRefusal) complaints.push(message.text())
  })
  return { page, elsewhere, complaints }
}
