import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { readContract } from '../src/contract/document.js'
import type { Handlers } from '../src/handlers/handler.js'
import { contractFile } from '../src/project.js'
import { browserIsMissing, startBrowser } from './fixtures/browser.js'
import { contract, type Service, send, startService } from './fixtures/service.js'

t.test('the root leads to the page, and all that the page names is there', async (t) => {
  const { origin } = await startService(t)
  t.match(await send(`${origin}/`), { status: 302, text: '' })
  t.equal((await send(`${origin}/`)).headers.get('location'), 'docs')
  const page = await send(`${origin}/docs`)
  t.equal(page.status, 200)
  t.match(page.text, `<title>${contract.title}</title>`)
  const names = [...page.text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, name = '']) => name)
  t.equal(names.length, 4)
  for (const name of names) {
    const answer = await send(new URL(name, `${origin}/docs`).href)
    t.equal(answer.status, 200, name)
    t.match(answer.headers.get('content-type'), name.endsWith('.css') ? /^text\/css/ : /^text\/javascript/)
  }
})

t.test('what the contract has at the root comes first', async (t) => {
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

t.test('a browser may load nothing from elsewhere', async (t) => {
  const { origin } = await startService(t)
  const policy = (await send(`${origin}/docs`)).headers.get('content-security-policy') ?? ''
  t.match(policy, /^default-src 'none'; /)
  t.notMatch(policy, /https?:|\*|unsafe-eval|script-src [^;]*unsafe/)
})

t.test('what a browser has is not sent again', async (t) => {
  const { origin } = await startService(t)
  for (const path of ['/docs', '/docs/page.js']) {
    const first = await send(origin + path)
    const etag = first.headers.get('etag') ?? ''
    t.equal(first.headers.get('cache-control'), 'no-cache')
    const again = await send(origin + path, 'GET', { 'if-none-match': etag })
    t.match(again, { status: 304, text: '' }, path)
    t.equal((await send(origin + path, 'GET', { 'if-none-match': '"other"' })).status, 200)
  }
})

t.test('who takes it gets it zipped, and nobody else', async (t) => {
  const { origin } = await startService(t)
  const plain = await send(`${origin}/docs/page.js`, 'GET', { 'accept-encoding': 'identity' })
  t.equal(plain.headers.get('content-encoding'), null)
  const response = await fetch(`${origin}/docs/swagger-ui-bundle.js`, {
    headers: { 'accept-encoding': 'gzip' },
  })
  t.equal(response.headers.get('content-encoding'), 'gzip')
  t.ok(Number(response.headers.get('content-length')) < 600_000)
  await response.arrayBuffer()
})

for (const [title, width, height] of [
  ['a desktop', 1280, 900],
  ['a phone', 390, 844],
] as const) {
  t.test(
    `on ${title}, one authorises, adds, lists and reads an animal`,
    { skip: browserIsMissing },
    async (t) => {
      const service = await startService(t)
      const { page, elsewhere, complaints } = await open(t, service, width, height)
      await page.goto(`${service.origin}/`)

      await t.test('without a key the refusal is clear', async (t) => {
        const listed = await operation(page, 'listPets')
        t.match(await execute(listed), /^401[\s\S]*"code": "missing_api_key"[\s\S]*www-authenticate/)
        await toggle(page, 'listPets')
      })

      await page.click('.btn.authorize')
      await page.fill('.auth-container input', service.key)
      await page.click('.auth-btn-wrapper .authorize')
      await page.click('.auth-btn-wrapper .btn-done')

      const added = await operation(page, 'createPet')
      await added
        .locator('textarea')
        .fill('{"name":"Rex","categoryId":9223372036854775807,"status":"available"}')
      t.match(
        await execute(added),
        /^201[\s\S]*"id": 1,[\s\S]*"categoryId": 9223372036854775807,[\s\S]*location: \/v1\/pets\/1/,
      )
      const [row] = await service.sql`select category_id from pets`
      t.equal(row?.category_id, 9223372036854775807n, 'the integer is exact on its way there, too')
      await toggle(page, 'createPet')

      await service.sql`insert into pets overriding system value values (9223372036854775806, 'Max', 1, 'available')`
      const listed = await operation(page, 'listPets')
      t.match(await execute(listed), /^200[\s\S]*"id": 9223372036854775806,[\s\S]*x-ratelimit-remaining: \d/)
      await toggle(page, 'listPets')

      const read = await operation(page, 'getPet')
      await read.locator('[data-param-name=petId] input').fill('9223372036854775806')
      t.match(
        await execute(read),
        /^200[\s\S]*"name": "Max"[\s\S]*deprecation: @1795132800[\s\S]*sunset: Thu/,
      )
      await read.locator('[data-param-name=petId] input').fill('77')
      t.match(await execute(read, '404'), /^404[\s\S]*"code": "pet_not_found"/)

      const overhang = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')
      t.equal(overhang, 0, 'nothing hangs over the edge')
      t.strictSame(elsewhere, [], 'nothing is asked of anybody else')
      t.strictSame(complaints, [], 'and the browser has nothing to complain of')
    },
  )
}

t.test('a browser that cannot help rounding says so', { skip: browserIsMissing }, async (t) => {
  const service = await startService(t)
  const { page } = await open(t, service, 1280, 900)
  await page.addInitScript('delete JSON.rawJSON')
  await page.goto(`${service.origin}/docs`)
  t.match(await page.locator('#rounding').innerText(), /rounds integers/)
  t.ok(await page.locator('#rounding').isVisible())
})

// A page, with what it asks of anybody but the service, and what the browser has to complain of.
async function open(t: Test, { origin }: Service, width: number, height: number) {
  const browser = await startBrowser(t)
  const page = await browser.newPage({ viewport: { width, height } })
  const elsewhere: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith('data:'))
      elsewhere.push(request.url())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  // What is refused on purpose is told in the console, too.
  page.on('console', (message) => {
    const isRefusal = /status of 4\d\d/.test(message.text())
    if (message.type() === 'error' && !isRefusal) complaints.push(message.text())
  })
  return { page, elsewhere, complaints }
}

async function toggle(page: Page, id: string): Promise<void> {
  await page.click(`#operations-animals-${id} .opblock-summary-control`)
}

async function operation(page: Page, id: string): Promise<Locator> {
  await toggle(page, id)
  const block = page.locator(`#operations-animals-${id}`)
  await block.locator('.execute').waitFor()
  return block
}

// What the page shows of the answer, its headers included.
async function execute(block: Locator, status = ''): Promise<string> {
  await block.locator('.execute').click()
  const answer = block.locator('.live-responses-table .response')
  await answer.filter({ has: block.page().locator('.response-col_status', { hasText: status }) }).waitFor()
  return (await answer.innerText()).trim()
}
