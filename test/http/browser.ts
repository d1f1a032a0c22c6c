// The service in a browser: pages of other origins, and /docs behind a gateway.

import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { freePort } from 'contract-testing/port'
import t, { type Test } from 'tap'
import { browserIsMissing, openPage } from '../fixtures/browser.js'
import { deprecation, prefix, successorLink } from '../fixtures/facts.js'
import { forwarded, nginxIsMissing, startGateway } from '../fixtures/gateway.js'
import { startService } from '../fixtures/service.js'

t.test(
  'a page of an allowed origin can call the service, and another cannot',
  { skip: browserIsMissing },
  async (t) => {
    const [mine, other] = [await servePage(t), await servePage(t)]
    const service = await startService(t, { env: { CORS_ORIGINS: mine } })
    await service.sql`insert into pets overriding system value values (7, 'Rex', 1, null)`
    const page = await openPage(t)
    const call = (path: string, headers: Record<string, string>, body?: string) =>
      page.evaluate(
        async ([url, headers, body]) => {
          try {
            const response = await fetch(url, {
              headers,
              ...(body !== undefined && { method: 'POST', body }),
            })
            return {
              status: response.status,
              headers: Object.fromEntries(response.headers),
              text: await response.text(),
            }
          } catch (error) {
            return { refused: String(error) }
          }
        },
        [service.base + path, headers, body] as const,
      )
    await page.goto(mine)
    t.match(await call('/pets', {}), {
      status: 401,
      headers: { 'www-authenticate': /Bearer/, 'x-request-id': /./ },
    })
    t.match(await call('/pets/7', service.auth), {
      status: 200,
      headers: {
        'x-ratelimit-remaining': /\d/,
        deprecation: deprecation.deprecation,
        link: successorLink(service.base),
      },
    })
    t.match(await call('/nothing', service.auth), { status: 404 })
    const key = { ...service.auth, 'content-type': 'application/json', 'idempotency-key': 'order-17' }
    const rex = '{"name":"Rex","categoryId":3}'
    const added = await call('/pets', key, rex)
    t.match(added, { status: 201, headers: { location: /^http:.*\/pets\/\d+$/ } })
    t.match(await call('/pets', key, rex), { status: 201, headers: { 'idempotent-replayed': 'true' } })
    await page.goto(other)
    t.match(await call('/pets', service.auth), { refused: /Failed to fetch/ })
  },
)

t.test(
  '/docs behind a gateway that strips a prefix sends its requests through it',
  { skip: browserIsMissing || nginxIsMissing },
  async (t) => {
    const service = await startService(t, { env: { TRUST_PROXY: 'loopback' } })
    const port = await freePort()
    await startGateway(t, port, { '/store/': `${service.origin}/; ${forwarded}` })
    const root = `http://127.0.0.1:${port}/store`
    const page = await openPage(t, { viewport: { width: 1280, height: 900 } })
    await page.goto(`${root}/docs`)
    const test = page.locator('button:has-text("Test Request")').first()
    await test.waitFor()
    await page.getByPlaceholder('Token').first().fill(service.key)
    await test.click()
    const responded = page.waitForResponse((each) => each.url().includes('/pets'))
    await page.locator('[role=dialog] button:has-text("Send")').first().click()
    const response = await responded
    t.equal(response.url().split('?')[0], `${root}${prefix}/pets`)
    t.equal(response.status(), 200)
  },
)

// Serves a page from a separate origin.
async function servePage(t: Test): Promise<string> {
  const server = http.createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<p>A shop</p>'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
