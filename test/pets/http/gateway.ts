// The service behind a gateway whose path prefix it does not know.

import t from 'tap'
import { parse } from 'yaml'
import { createClient } from '../../../src/client/index.js'
import { send, startService } from '../../fixtures/service.js'
import { browserIsMissing, openPage } from '../fixtures/browser.js'
import { prefix } from '../fixtures/facts.js'
import { nginxIsMissing, startGateway } from '../fixtures/gateway.js'

t.test('behind a gateway that strips a prefix', { skip: nginxIsMissing }, async (t) => {
  const { origin, auth, key } = await startService(t)
  const gateway = await startGateway(t, { '/store/': `${origin}/`, '/animals/': `${origin}${prefix}/` })

  for (const base of [`${gateway}/store${prefix}`, `${gateway}/animals`]) {
    t.test(`every link leads on under ${new URL(base).pathname}`, async (t) => {
      const pets = `${base}/pets`
      const follow = (header: string | null, from: string) => {
        const url = new URL(/<([^>]+)>/.exec(header ?? '')?.[1] ?? header ?? '', from)
        return send(url.href, 'GET', auth)
      }
      for (const name of ['Rex', 'Ada', 'Bo']) {
        const added = await send(pets, 'POST', auth, { name, categoryId: 3 })
        t.strictSame((await follow(added.headers.get('location'), pets)).body, added.body)
      }
      const first = await send(`${pets}?limit=1`, 'GET', auth)
      const second = await follow(first.headers.get('link'), `${pets}?limit=1`)
      t.match(second, { status: 200, body: [{ name: 'Ada' }] })
      const read = await send(`${pets}/${first.body[0].id}`, 'GET', auth)
      t.match(await follow(read.headers.get('link'), `${pets}/${first.body[0].id}`), {
        status: 200,
        body: [{ name: 'Rex' }, { name: 'Ada' }, { name: 'Bo' }],
      })
    })
  }

  t.test('the contract as served names the operations', async (t) => {
    for (const file of ['openapi.yaml', 'openapi.json', 'openapi-3.0.yaml']) {
      const url = `${gateway}/store/${file}`
      const [{ url: server }] = parse((await send(url)).text).servers
      t.match(await send(`${new URL(server, url).href}/pets`, 'GET', auth), { status: 200 }, file)
    }
  })

  t.test('the page /docs sends requests through the gateway', { skip: browserIsMissing }, async (t) => {
    const page = await openPage(t, { viewport: { width: 1280, height: 900 } })
    await page.goto(`${gateway}/store/docs`)
    const test = page.locator('button:has-text("Test Request")').first()
    await test.waitFor()
    await page.getByPlaceholder('Token').first().fill(key)
    await test.click()
    const responded = page.waitForResponse((each) => each.url().includes('/pets'))
    await page.locator('[role=dialog] button:has-text("Send")').first().click()
    const response = await responded
    t.equal(response.url().split('?')[0], `${gateway}/store${prefix}/pets`)
    t.equal(response.status(), 200)
  })

  t.test('the client reads all pages', async (t) => {
    const store = createClient({ baseUrl: `${gateway}/store${prefix}`, key })
    const names: string[] = []
    for await (const { name } of store.items('listPets', { query: { limit: 2 } })) names.push(name)
    t.strictSame(names.slice(0, 3), ['Rex', 'Ada', 'Bo'])
    t.equal(names.length, 6)
  })
})
