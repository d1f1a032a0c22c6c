// The API catalogue (RFC 9727), and the links of the page (RFC 8631).

import { contractWith, done, startEngine } from 'contract-testing/engine'
import t from 'tap'

interface Link {
  readonly href: string
  readonly type: string
}

interface Catalog {
  readonly anchor: string
  readonly 'service-desc': readonly Link[]
  readonly 'service-doc': readonly Link[]
}

const route = { method: 'get', responses: done }

t.test('the catalogue leads to the contract and its page, by absolute links', async (t) => {
  const { origin } = await startEngine(t, await contractWith({ values: route }), {})
  const response = await fetch(`${origin}/.well-known/api-catalog`)
  t.match(response.headers.get('content-type'), /^application\/linkset\+json; profile="/)
  const [api, ...others] = ((await response.json()) as { linkset: [Catalog] }).linkset
  t.strictSame(others, [])
  for (const { href, type } of [...api['service-desc'], ...api['service-doc']]) {
    const target = await fetch(href)
    t.equal(target.status, 200, href)
    t.match(target.headers.get('content-type'), new RegExp(`^${type}`))
  }
  t.equal((await fetch(`${api.anchor}/values`)).status, 501, 'the operations')
})

t.test('the headers of the catalogue and of the page have the links', async (t) => {
  const { origin } = await startEngine(t, await contractWith({ values: route }), {})
  const head = await fetch(`${origin}/.well-known/api-catalog`, { method: 'HEAD' })
  const targets = `<${origin}/.well-known/api-catalog>; rel="api-catalog", <${origin}/openapi.json>; rel="service-desc"`
  t.ok(head.headers.get('link')?.startsWith(targets), String(head.headers.get('link')))
  const page = await fetch(`${origin}/docs`)
  const links = page.headers.get('link') ?? ''
  for (const [, target = ''] of links.matchAll(/<([^>]+)>/g))
    t.equal((await fetch(target)).status, 200, target)
  t.match(links, /rel="service-desc"/)
})

t.test('an operation at its path takes precedence', async (t) => {
  const contract = await contractWith({ own: { ...route, path: '/.well-known/api-catalog' } })
  const { origin } = await startEngine(t, contract, { own: async () => ({ status: 204 }) })
  t.equal((await fetch(`${origin}/.well-known/api-catalog`)).status, 204)
})
