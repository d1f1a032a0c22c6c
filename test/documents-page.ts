// The page /docs in a browser.

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { documentation } from 'contract-engine'
import { readContract } from 'contract-engine/compile'
import Fastify from 'fastify'
import type { BrowserContextOptions, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { browserIsMissing, openPage } from './fixtures/browser.js'
import { status } from './fixtures/facts.js'
import { contract, type Service, startService } from './fixtures/service.js'

const run = promisify(execFile)

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

// Delays Scalar until it is released, as a slow network does.
async function holdScalar(page: Page): Promise<() => void> {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route('**/scalar.js', async (route) => {
    await released
    await route.continue()
  })
  return () => release()
}

t.test('until it has loaded, the operations can be read', { skip: browserIsMissing }, async (t) => {
  const service = await startService(t)
  const { page, complaints } = await open(t, service, { viewport: { width: 1280, height: 900 } })
  const release = await holdScalar(page)
  await page.goto(`${service.origin}/docs`, { waitUntil: 'commit' })
  await page.getByText('Loading the interactive reference').waitFor()
  await page.locator('#plain a:has-text("GET /pets/{petId}")').first().click()
  release()
  await page.getByText('Loading the interactive reference').waitFor({ state: 'hidden' })
  await page.locator('#plain').waitFor({ state: 'detached' })
  const heading = page.locator('#documentation h3:has-text("Get an animal")').first()
  await heading.waitFor()
  await page.waitForFunction(
    `[...document.querySelectorAll('#documentation [id$="/GET/pets/{petId}"]')].some((each) => {
      const { top } = each.getBoundingClientRect()
      return top > -100 && top < innerHeight
    })`,
  )
  t.strictSame(complaints, [], 'the reader goes on at the same operation')
})

for (const colorScheme of ['light', 'dark'] as const) {
  const title = `without Scalar the page stays, accessible, opened ${colorScheme}`
  t.test(title, { skip: browserIsMissing }, async (t) => {
    const service = await startService(t)
    const { page } = await open(t, service, { viewport: { width: 390, height: 844 }, colorScheme })
    await page.route('**/scalar.js', (route) => route.abort())
    await page.goto(`${service.origin}/docs`)
    await page.getByText('Loading the interactive reference').waitFor({ state: 'hidden' })
    await page.evaluate(`${axe};0`)
    t.strictSame(await page.evaluate(findViolations), [])
    t.equal(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth'), 0)
  })
}

t.test('without JavaScript the page has every operation', { skip: browserIsMissing }, async (t) => {
  const service = await startService(t)
  const { page, complaints } = await open(t, service, { javaScriptEnabled: false })
  await page.goto(`${service.origin}/docs`)
  const titles = await page.locator('#plain h3').allInnerTexts()
  t.strictSame(
    titles.filter((title) => title.includes('/')),
    [...contract.operations.values()].map(({ method, path }) => `${method} ${path}`),
  )
  t.notOk(await page.getByText('Loading').isVisible())
  t.strictSame(complaints, [])
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

// Those of Scalar's samples that run where the tests run. A test of the engine runs the others.
const commands: Readonly<Record<string, readonly string[]>> = {
  'JavaScript Fetch': [process.execPath, '--input-type=module', '--eval'],
  'Shell Curl': ['bash', '-c'],
}

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
    documentation(app, await readContract('openapi.yaml', async () => exactContract))
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
    t.equal(await picker.innerText(), 'Shell Curl')
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
      if (!name.startsWith('HTTP')) t.match(sample, `${origin}/v1/toys/`, `${name} has the address`)
      const [command, ...args] = commands[name] ?? []
      if (command !== undefined) await run(command, [...args, await card.locator('pre').innerText()])
    }
    t.strictSame(names, [
      ...['JavaScript Fetch', 'Python Requests', 'Go', 'Java'],
      ...['C# HttpClient', 'Dart Http', 'F# HttpClient', 'HTTP HTTP/1.1'],
      ...['Python HTTPX (Sync)', 'Python HTTPX (Async)', 'Shell Curl'],
    ])
    const request = [`/v1/toys/${pathId}?q=${queryId}`, `{"id":${bodyId},"ids":[{"id":${nestedId}}]}`]
    t.strictSame(received.splice(0), Array(Object.keys(commands).length).fill(request), 'samples were run')
    await card.locator('button:has-text("Test Request")').click()
    const dialog = page.locator('[role=dialog]').first()
    await dialog.locator('button:has-text("Send")').first().click()
    const shown = dialog.locator('.cm-content').filter({ hasText: `"id": ${bodyId},` })
    await shown.nth(1).waitFor() // the request's and the response's
    t.match(await shown.nth(1).innerText(), `"id": ${nestedId}`)
    t.strictSame(received, [request])
    t.strictSame(complaints, [])
  },
)

const securitySchemes = {
  token: { type: 'http', scheme: 'bearer' },
  login: { type: 'http', scheme: 'basic' },
  header: { type: 'apiKey', in: 'header', name: 'X-Key' },
  query: { type: 'apiKey', in: 'query', name: 'api_key' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
  oidc: { type: 'openIdConnect', openIdConnectUrl: 'https://id.example/.well-known/openid-configuration' },
}

// Issues tokens to anybody, by client credentials or by a code.
async function startIssuer(t: Test): Promise<{ readonly origin: string; readonly asked: string[] }> {
  const asked: string[] = []
  const issuer = Fastify()
  issuer.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_, text, done) =>
    done(null, text),
  )
  issuer.addHook('onRequest', async (_, reply) => {
    reply.headers({ 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': '*, authorization' })
  })
  issuer.options('/token', async (_, reply) => reply.send())
  issuer.get<{ Querystring: Record<string, string> }>('/login', async ({ query }, reply) =>
    reply.redirect(`${query.redirect_uri}?code=${query.code_challenge_method}&state=${query.state}`),
  )
  issuer.post('/token', async ({ body }) => {
    const form = new URLSearchParams(String(body))
    asked.push(`${form.get('grant_type')} ${form.get('code') ?? form.get('scope')}`)
    return { access_token: `by-${form.get('grant_type')}`, token_type: 'Bearer' }
  })
  t.teardown(() => issuer.close())
  return { origin: await issuer.listen({ host: '127.0.0.1', port: 0 }), asked }
}

t.test('a visitor authorizes a request by each security scheme', { skip: browserIsMissing }, async (t) => {
  const issuer = await startIssuer(t)
  const tokenUrl = `${issuer.origin}/token`
  const authorizationCode = {
    tokenUrl,
    authorizationUrl: `${issuer.origin}/login`,
    scopes: { read: 'Read.' },
  }
  const clientCredentials = { tokenUrl, scopes: { read: 'Read.' } }
  const schemes = {
    ...securitySchemes,
    oauth: { type: 'oauth2', flows: { clientCredentials } },
    code: { type: 'oauth2', flows: { authorizationCode } },
  }
  const responses = { 204: { description: 'None.' } }
  const alternatives = [
    ...Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    { oauth: ['read'] },
    { header: [], query: [] },
    { code: ['read'] },
  ]
  const paths = Object.fromEntries(
    alternatives.map((security, i) => [
      `/doors/${i}`,
      { get: { operationId: `get${i}`, security: [security], responses } },
    ]),
  )
  const document = { openapi: '3.1.0', info: { title: 'Doors', version: '1.0.0' }, paths }
  const text = JSON.stringify({ ...document, components: { securitySchemes: schemes } })
  const app = Fastify()
  documentation(app, await readContract('openapi.json', async () => text))
  const received: string[] = []
  app.get('/doors/:door', async ({ headers, url }, reply) => {
    const { authorization, 'x-key': key, cookie } = headers
    received.push(`${url} ${authorization ?? key ?? cookie}`)
    return reply.code(204).send()
  })
  t.teardown(() => app.close())
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const { page, complaints } = await open(t, { origin }, { viewport: { width: 1280, height: 1000 } })
  await page.goto(`${origin}/docs`)
  await page.getByText('(read).').first().waitFor() // the scopes of an operation

  const dialog = page.locator('[role=dialog]').first()
  const send = async (authorize: () => Promise<void>, url: string, credential: string | undefined) => {
    const [path = ''] = url.split('?')
    await page
      .locator('button:has-text("Test Request")')
      .nth(Number(path.at(-1)))
      .click()
    await dialog.getByText(`Send get request to ${origin}${path}`).first().waitFor({ state: 'attached' })
    await authorize()
    // The editor of a name passes on its text with a delay.
    for (let tries = 0; tries < 10 && received.at(-1) !== `${url} ${credential}`; tries++) {
      const response = page.waitForResponse(`${origin}${url}`)
      await dialog.locator('button:has-text("Send")').first().click()
      await response
    }
    t.equal(received.at(-1), `${url} ${credential}`)
    // Until the response is shown, Escape would cancel the request and leave the dialog open.
    await dialog.getByText('204').first().waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
  }
  const secret = (value: string) => () => dialog.locator('input[type=text]').first().fill(value)
  const name = async (value: string, editor: number) => {
    await dialog.locator('.cm-content[contenteditable=true]').nth(editor).click()
    await page.keyboard.insertText(value)
  }
  const login = async () => {
    await name('ann', 0)
    await secret('päss')()
  }
  const askForToken = async (editor: number) => {
    await name('client', editor)
    await dialog.locator('button:has-text("Authorize")').first().click()
    await dialog.getByText('Access Token').first().waitFor()
  }
  await send(secret('b1'), '/doors/0', 'Bearer b1')
  await send(login, '/doors/1', 'Basic YW5uOnDDpHNz')
  await send(secret('h1'), '/doors/2', 'h1')
  await send(secret('q1'), '/doors/3?api_key=q1', undefined)
  await send(secret('c1'), '/doors/4', 'sid=c1')
  await send(secret('o1'), '/doors/5', 'Bearer o1')
  await send(() => askForToken(1), '/doors/6', 'Bearer by-client_credentials')
  await send(async () => {}, '/doors/7?api_key=q1', 'h1')
  await send(() => askForToken(3), '/doors/8', 'Bearer by-authorization_code')
  t.strictSame(issuer.asked, ['client_credentials read', 'authorization_code S256'])
  t.strictSame(complaints, [])
})

// Opens a page, and records its requests to other origins and the browser's errors.
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
