// Caches: as one begins with each, and with the setting that fits. Each sends a GET, and returns the body.

import { mkdtempSync } from 'node:fs'
import axios from 'axios'
import { setupCache } from 'axios-cache-interceptor'
import got from 'got'
import fetchAndCache from 'make-fetch-happen'
import NodeFetchCache, { FileSystemCache } from 'node-fetch-cache'
import { Agent, interceptors, fetch as undiciFetch } from 'undici'

const withGot = (options) => async (url, headers) => (await got(url, { headers, ...options })).body

const folder = () => mkdtempSync('cache-')

export const caches = {
  got: () => withGot({ cache: new Map() }),
  'got, `cacheOptions: { shared: false }`': () =>
    withGot({ cache: new Map(), cacheOptions: { shared: false } }),
  undici: () => {
    const dispatcher = new Agent().compose(interceptors.cache({ type: 'private' }))
    return async (url, headers) => (await undiciFetch(url, { headers, dispatcher })).text()
  },
  'make-fetch-happen': () => {
    const cachePath = folder()
    return async (url, headers) => (await fetchAndCache(url, { headers, cachePath })).text()
  },
  'axios-cache-interceptor': () => {
    const instance = setupCache(axios.create())
    return async (url, headers) => JSON.stringify((await instance.get(url, { headers })).data)
  },
  'node-fetch-cache': () => {
    const fetchCached = NodeFetchCache.create({ cache: new FileSystemCache({ cacheDirectory: folder() }) })
    return async (url, headers) => (await fetchCached(url, { headers })).text()
  },
}
