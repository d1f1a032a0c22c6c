import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import zlib from 'node:zlib'
import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { readContract } from '../../src/contract/read.js'
import type { Handlers } from '../../src/handlers/handler.js'
import { contractFile } from '../../src/paths.js'
import { browserIsMissing, openPage } from '../fixtures/browser.js'
import { deprecation, prefix, status } from '../fixtures/facts.js'
import { contract, type Service, send, startService } from '../fixtures/service.js'

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
    const get = (headers: Record<string, string>) => send(origin + path, 'GET', headers)
    const first = await get({})
    const etag = first.headers.get('etag') ?? ''
    t.equal(first.headers.get('cache-control'), 'no-cache')
    for (const known of [etag, `W/${etag}`, `"a, b", W/"c",${etag}`, '*']) {
      t.match(await get({ 'if-none-match': known }), { status: 304, text: '' }, `${path} ${known}`)
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

t.test('who takes it gets it zipped, and nobody else', async (t) => {
  const { origin } = await startService(t)
  const etags = new Map<string | null, string | null>()
  for (const [accepted, expected] of codings) {
    const { headers } = await send(`${origin}/docs/page.js`, 'GET', { 'accept-encoding': accepted })
    t.equal(headers.get('content-encoding'), expected, accepted)
    t.equal(headers.get('vary'), 'Accept-Encoding')
    t.equal(headers.get('etag'), etags.get(expected) ?? headers.get('etag'), 'each has its tag')
    etags.set(expected, headers.get('etag'))
  }
  t.not(etags.get('gzip'), etags.get(null), 'and not the same')
  const zipped = { 'accept-encoding': 'gzip', 'if-none-match': etags.get(null) ?? '' }
  t.equal((await send(`${origin}/docs/page.js`, 'GET', zipped)).status, 200, 'nor taken for one another')
  const response = await fetch(`${origin}/docs/swagger-ui-bundle.js`, {
    headers: { 'accept-encoding': 'gzip' },
  })
  t.ok(Number(response.headers.get('content-length')) < 600_000)
  await response.arrayBuffer()
})

t.test('each is read and zipped once, unless that fails', async (t) => {
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
  Object.assign(zlib, { gzip: () => t.fail('it is zipped already') })
  syncBuiltinESMExports()
  t.match(await send(`${origin}/docs`), { status: 200 })
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
        .fill(`{"name":"Rex","categoryId":9223372036854775807,"status":"${status}"}`)
      t.match(
        await execute(added),
        new RegExp(`^201[^]*"id": 1,[^]*"categoryId": 9223372036854775807,[^]*location: ${prefix}/pets/1`),
      )
      const [row] = await service.sql`select category_id from pets`
      t.equal(row?.category_id, 9223372036854775807n, 'the integer is exact on its way there, too')
      await toggle(page, 'createPet')

      await service.sql`insert into pets overriding system value values (9223372036854775806, 'Max', 1, ${status})`
      const listed = await operation(page, 'listPets')
      await listed.locator('[data-param-name=status] select').selectOption(status)
      t.match(
        await execute(listed, '200'),
        /^200[\s\S]*"id": 9223372036854775806,[\s\S]*x-ratelimit-remaining: \d/,
      )
      await toggle(page, 'listPets')

      const read = await operation(page, 'getPet')
      await read.locator('[data-param-name=petId] input').fill('9223372036854775806')
      t.match(
        await execute(read),
        new RegExp(`^200[^]*"name": "Max"[^]*deprecation: ${deprecation.deprecation}${shownSunset}`),
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
  const page = await openPage(t, { viewport: { width, height } })
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

// As the page shows the header, if there is one.
const shownSunset = deprecation.sunset === null ? '' : `[^]*sunset: ${deprecation.sunset.replace(', ', ',')}`

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
