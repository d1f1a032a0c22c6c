import t from 'tap'
import { resolveReference, selfReference, selfWith } from '../../src/lib/relative-references.js'

// Base URLs of clients: a gateway may replace the service's prefix by another path.
const outside = ['https://store.example/v1', 'https://store.example/store/v1', 'http://store.example']

const targets: [target: string, path: string, self: string][] = [
  ['/v1/pets', '/pets', 'pets'],
  ['/v1/pets?limit=2&x=/a/b', '/pets', 'pets'],
  ['http://evil.example/v1/pets?limit=2', '/pets', 'pets'],
  ['/v1/pets/7', '/pets/7', '7'],
  ['/v1/%70ets', '/%70ets', '%70ets'],
  ['/v1/shops/a%2Fb', '/shops/a%2Fb', 'a%2Fb'],
  ['/v1/pets/', '/pets/', '.'],
  ['/v1/pets:search', '/pets:search', './pets:search'],
  ['/v1/shops/<a> "b"', '/shops/%3Ca%3E%20%22b%22', '%3Ca%3E%20%22b%22'],
]

for (const [target, path, self] of targets) {
  t.test(`the reference from ${target} to itself`, async (t) => {
    t.equal(selfReference(target), self)
    for (const base of outside) {
      t.equal(new URL(selfReference(target), `${base}${path}?limit=2`).href, new URL(base + path).href)
    }
  })
}

const references: [from: string, reference: string, path: string][] = [
  ['/v1/pets', 'pets/7', '/v1/pets/7'],
  ['/v1/pets', 'pets?limit=2&x=../a', '/v1/pets?limit=2&x=../a'],
  ['/v1/pets', '?limit=2', '/v1/pets?limit=2'],
  ['/v1/pets', '#a', '/v1/pets#a'],
  ['/v1/pets', '', '/v1/pets'],
  ['/v1/pets', '/docs', '/docs'],
  ['/v1/pets/7', '../pets', '/v1/pets'],
  ['/v1/pets/7', '../../docs', '/docs'],
  ['/v1/pets/7', '../../../../docs', '/docs'],
  ['/v1/pets/7', '..', '/v1/'],
  ['/v1/pets/7', '..?a', '/v1/?a'],
  ['/v1/pets/', '.', '/v1/pets/'],
  ['/v1/pets', '.', '/v1/'],
  ['/v1/pets', '.#a', '/v1/#a'],
  ['/v1/pets', './pets:search', '/v1/pets:search'],
  ['/v1/pets', './.././a', '/a'],
  ['/v1/pets', '.well-known/a', '/v1/.well-known/a'],
  ['/v1/pets', '...', '/v1/...'],
  ['/v1/shops/a%2Fb', 'c', '/v1/shops/c'],
  ['/', 'pets', '/pets'],
  ['/', '..', '/'],
]

for (const [from, reference, path] of references) {
  t.test(`the reference "${reference}" leads from ${from} to ${path}`, async (t) => {
    t.equal(resolveReference(reference, from), path)
    t.equal(new URL(reference, `https://store.example${from}`).href, `https://store.example${path}`)
  })
}

// Each style of parameter (RFC 6570, OpenAPI) as clients write it, and characters that are forbidden in a
// Link.
const queries: [query: string, kept: string][] = [
  ['', ''],
  ['?', ''],
  ['?cursor=x', ''],
  ['?limit=5&cursor=x&', ''],
  ['?c%75rsor=x', ''],
  ['?cu%72sor=x&cursor=y&lim%69t=1', ''],
  ['?tags=a,b%2Cc&cursor=x', 'tags=a,b%2Cc&'],
  ['?tags=a&tags=b', 'tags=a&tags=b&'],
  ['?tags=a|b%20c', 'tags=a%7Cb%20c&'],
  ['?size[from]=1&size%5Bto%5D=2', 'size%5Bfrom%5D=1&size%5Bto%5D=2&'],
  ['?filter={"a":">"}', 'filter=%7B%22a%22:%22%3E%22%7D&'],
  ['?cursors=x&q=cursor=1', 'cursors=x&q=cursor=1&'],
  ['?%FF=1', '%FF=1&'],
]

t.test('a name is replaced in whichever way the client has written it', async (t) => {
  for (const name of ['page+size', 'page%20size', 'p%61ge+size', 'page+%73ize'])
    t.equal(selfWith(`/pets?${name}=2&${name}=1`, 'pets', { 'page size': 3 }), 'pets?page%20size=3', name)
  t.equal(selfWith('/pets?a%2Bb=1&a+b=2', 'pets', { 'a+b': 3 }), 'pets?a+b=2&a%2Bb=3')
})

for (const [query, kept] of queries) {
  t.test(`the reference to another page of /pets${query}`, async (t) => {
    const reference = selfWith(`/v1/pets${query}`, 'pets', { limit: 20, cursor: 'a/+&=>' })
    t.equal(reference, `pets?${kept}limit=20&cursor=a%2F%2B%26%3D%3E`)
  })
}
