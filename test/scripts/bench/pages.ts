import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { byId, pagesOf, statuses } from '../../../scripts/bench/pages.js'

// Animals of each status in turn. `link` writes the URL of the next page.
const animals = Array.from({ length: 950 }, (_, i) => ({ id: i + 1, status: statuses[i % statuses.length] }))
type Linker = (id: number, query: string) => string | undefined

async function serve(t: Test, link: Linker, status = 200) {
  const server = http.createServer(({ url = '' }, response) => {
    const { searchParams } = new URL(url, 'http://x')
    const [limit, wanted] = [Number(searchParams.get('limit') ?? 20), searchParams.get('status')]
    const from = Number(searchParams.get('after') ?? searchParams.get('cursor')?.slice('after-'.length) ?? 0)
    const all = animals.filter((each) => each.id > from && (wanted === null || each.status === wanted))
    const page = all.slice(0, limit)
    searchParams.delete('cursor')
    const next = all.length > limit ? link(page.at(-1)?.id ?? 0, `${searchParams}&`) : undefined
    response.writeHead(status, next === undefined ? {} : { link: `<${next}>; rel="next"` })
    response.end(JSON.stringify(page))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  const pageAfter = () => pagesOf({ port, title: 'subject' }, 'key', new AbortController().signal)
  const idsAt = async (path: string) => {
    const page = (await (await fetch(`http://127.0.0.1:${port}${path}`)).json()) as typeof animals
    return page.map(({ id }) => id)
  }
  return { pageAfter, idsAt }
}

t.test('a subject without links, or whose links have ids, gets pages by id', async (t) => {
  const linkers: Linker[] = [() => undefined, (id, query) => `http://x/v1/pets?${query}after=${id}`]
  for (const link of linkers) {
    const { pageAfter, idsAt } = await serve(t, link)
    t.equal(await pageAfter(), byId)
    t.equal((await idsAt(byId(500, undefined)))[0], 501)
    t.equal((await idsAt(byId(500, 'sold')))[0], 501)
  }
})

t.test('a subject whose pages have cursors gets its own links, relative or absolute', async (t) => {
  const links: Linker[] = [
    (id, query) => `pets?${query}cursor=after-${id}`,
    (id, query) => `http://elsewhere/v1/pets?${query}cursor=after-${id}`,
  ]
  for (const link of links) {
    const { pageAfter, idsAt } = await serve(t, link)
    const path = await pageAfter()
    for (const status of [undefined, ...statuses]) {
      for (const id of [0, 99, 450, 880]) {
        const ids = await idsAt(path(id, status))
        t.equal(ids.length, 20, `a page behind ${id} of ${status}: ${path(id, status)}`)
        const first = ids[0] ?? 0
        t.ok(id < 100 || (first > id - 300 && first <= id + statuses.length), `begins near ${id}: ${first}`)
        t.ok(ids.every((each) => status === undefined || animals[each - 1]?.status === status))
      }
    }
  }
})

t.test('a subject that does not respond with pages is an error that names it', async (t) => {
  const { pageAfter } = await serve(t, () => undefined, 400)
  await t.rejects(pageAfter(), { message: 'subject: 400 for /v1/pets?limit=1' })
})
