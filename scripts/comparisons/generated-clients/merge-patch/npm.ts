// Sends the patch with the client that the argument names.

const baseUrl = process.env.URL ?? ''
const patch = { note: null }

const clients: Record<string, () => Promise<unknown>> = {
  'typescript-fetch': async () => {
    const { Configuration, DefaultApi } = await import('./typescript-fetch/index.js')
    const items = new DefaultApi(new Configuration({ basePath: baseUrl }))
    await items.patchItem({ itemId: 1, itemPatch: patch })
    await items.patchBoth({ itemId: 1, itemPatch: patch })
  },
  'hey-api': async () => {
    const { patchBoth, patchItem } = await import('./hey-api/index.js')
    for (const send of [patchItem, patchBoth]) await send({ baseUrl, path: { itemId: 1 }, body: patch })
  },
  orval: async () => {
    const { patchBoth, patchItem } = await import('./orval.js')
    const { fetch } = globalThis
    globalThis.fetch = (path, init) => fetch(`${baseUrl}${path}`, init)
    for (const send of [patchItem, patchBoth]) await send(1, patch)
  },
  'openapi-fetch': async () => {
    const { default: createClient } = await import('openapi-fetch')
    const [type] = process.argv.slice(3)
    const headers = type && { 'Content-Type': type }
    const client = createClient<import('./openapi-fetch.js').paths>({ baseUrl, ...(headers && { headers }) })
    for (const path of ['/items/{itemId}', '/both/{itemId}'] as const)
      await client.PATCH(path, { params: { path: { itemId: 1 } }, body: patch })
  },
}
await clients[process.argv[2] ?? '']?.()
