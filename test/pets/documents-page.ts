// The page /docs in a browser.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { BrowserContextOptions } from 'playwright-core'
import t, { type Test } from 'tap'
import { contract, type Service, startService } from '../fixtures/service.js'
import { browserIsMissing, openPage } from './fixtures/browser.js'
import { status } from './fixtures/facts.js'

// Waits for animations to finish, except endless ones such as a caret.
const untilStill = `Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().endTime < Infinity)
  .map(({ finished }) => finished)).then(() => {})`

// Only violations: by default, axe also returns every element that passes.
const findViolations = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)`

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

t.test('the page warns in a browser that rounds integers', { skip: browserIsMissing }, async (t) => {
  const service = await startService(t)
  const { page } = await open(t, service, { viewport: { width: 1280, height: 900 } })
  await page.addInitScript('delete JSON.rawJSON')
  await page.goto(`${service.origin}/docs`)
  t.match(await page.locator('#rounding').innerText(), /rounds integers/)
  t.ok(await page.locator('#rounding').isVisible())
})

// Opens a page, and records its requests to other origins and the errors of the browser.
async function open(t: Test, { origin }: Service, options: BrowserContextOptions) {
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
