import t from 'tap'
import { readBaseUrl } from '../../src/lib/base-url.js'

const cases: [text: string, url: string | undefined][] = [
  ['https://store.example/v1', 'https://store.example/v1'],
  ['https://store.example/v1//', 'https://store.example/v1'],
  [' https://store.example/v1\n', 'https://store.example/v1'],
  ['https://v1.store.example', 'https://v1.store.example'],
  ['HTTPS://Store.Example:443/V1', 'https://store.example/V1'],
  ['http://[::1]:3000/v1', 'http://[::1]:3000/v1'],
  ['http://caf\u00e9.example/caf\u00e9', 'http://xn--caf-dma.example/caf%C3%A9'],
  ['http://a/b"<c> d', 'http://a/b%22%3Cc%3E%20d'],
  ['http://a/b@c', 'http://a/b@c'],
  ['http://a/b/../c', 'http://a/c'],
  ['', undefined],
  ['/v1', undefined],
  ['store.example/v1', undefined],
  ['localhost:3000/v1', undefined],
  ['ftp://a/v1', undefined],
  ['javascript:alert(1)', undefined],
  ['https://', undefined],
  ['https://a:b/v1', undefined],
  ['https://a/v1?b', undefined],
  ['https://a/v1#b', undefined],
  ['https://user@a/v1', undefined],
  ['https://user:word@a/v1', undefined],
]

for (const [text, url] of cases)
  t.test(`${JSON.stringify(text)} is ${url ?? 'no base URL'}`, async (t) => {
    t.equal(readBaseUrl(text), url)
    if (url !== undefined) t.equal(readBaseUrl(url), url)
  })
