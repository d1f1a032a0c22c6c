// The client, the reader of a feed, and /docs in the browsers that other tests do not use.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import { otherBrowsers } from '../fixtures/other-browsers.js'
import { startService } from '../fixtures/service.js'

const bundled = await build({
  entryPoints: [path.join(projectRoot, 'src/client/index.ts')],
  bundle: true,
  format: 'esm',
  write: false,
})
const files: Record<string, string> = {
  '/client.js': bundled.outputFiles[0]?.text ?? '',
  '/events.js': readFileSync(path.join(projectRoot, 'docs/examples/events.js'), 'utf8'),
}

// Starts a site with scripts, and a feed that needs a key. The feed is busy at first, and ends after two
// events.
async function startSite(t: Test) {
  const asked: unknown[] = []
  const server = createServer(({ url = '', headers }, response) => {
    if (url !== '/feed') {
      const type = url.endsWith('.js') ? 'text/javascript' : 'text/html'
      response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(files[url] ?? '')
      return
    }
    const lastId = Number(headers['last-event-id'] ?? 0)
    asked.push([headers.authorization, lastId])
    if (asked.length === 1) {
      response.writeHead(503, { 'retry-after': '1' }).end()
      return
    }
    const events = [lastId + 1, lastId + 2].map(
      (id) => `id: ${id}\nevent: toy\nretry: 10\ndata: {"id":${id}}\n\n`,
    )
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  return { asked, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

for (const { name, isMissing, open } of otherBrowsers)
  t.test(
    `in ${name} the client is exact, a feed goes on, and /docs is interactive`,
    { skip: isMissing },
    async (t) => {
      const { asked, origin } = await startSite(t)
      const service = await startService(t, { env: { CORS_ORIGINS: origin } })
      const window = await open(t)
      await window.goto(`${origin}/page`)
      const called = await window.evaluate(`(async () => {
      const { createClient } = await import('/client.js')
      const store = createClient({ baseUrl: '${service.base}', key: '${service.key}' })
      const { data } = await store.createPet({ body: { name: 'Rex', categoryId: 9223372036854775807n } })
      const pages = []
      for await (const page of store.pages('listPets', { query: { limit: 1 } })) pages.push(String(page.data[0].categoryId))
      const other = createClient({ baseUrl: '${service.base}', key: 'wrong' })
      return [String(data.categoryId), pages, await other.listPets().catch(({ code }) => code)]
    })()`)
      const most = '9223372036854775807'
      t.strictSame(called, [most, [most], 'invalid_api_key'])

      const read = await window.evaluate(`(async () => {
      const { events } = await import('/events.js')
      const read = []
      for await (const { event, id, data } of events('/feed', 'secret')) if (read.push([event, id, data]) === 4) return read
    })()`)
      t.strictSame(
        read,
        ['1', '2', '3', '4'].map((id) => ['toy', id, `{"id":${id}}`]),
      )
      const key = 'Bearer secret'
      t.strictSame(
        asked,
        [
          [key, 0],
          [key, 0],
          [key, 2],
        ],
        'after a 503, and behind its last event',
      )

      await window.goto(`${service.origin}/docs`)
      const shown = await window.evaluate(`(async () => {
      const find = () => [...document.querySelectorAll('button')].find((each) => each.textContent.includes('Test Request'))
      for (let n = 0; n < 600 && !find(); n++) await new Promise((resolve) => setTimeout(resolve, 100))
      return [document.title, find() !== undefined, document.getElementById('rounding').hidden]
    })()`)
      t.match(
        shown,
        [/Animal Store/, true, true],
        'the interactive reference, without the warning that it rounds',
      )
    },
  )
