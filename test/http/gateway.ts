// The service behind a gateway whose path prefix it does not know.

import t from 'tap'
import { createClient } from '../../src/client/index.js'
import { prefix } from '../fixtures/facts.js'
import { nginxIsMissing, startGateway } from '../fixtures/gateway.js'
import { send, startService } from '../fixtures/service.js'

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

  t.test('the client reads all pages', async (t) => {
    const store = createClient({ baseUrl: `${gateway}/store${prefix}`, key })
    const names: string[] = []
    for await (const { name } of store.items('listPets', { query: { limit: 2 } })) names.push(name)
    t.strictSame(names.slice(0, 3), ['Rex', 'Ada', 'Bo'])
    t.equal(names.length, 6)
  })
})
