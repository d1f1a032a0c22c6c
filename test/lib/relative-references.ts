import t from 'tap'
import { referenceTo, selfReference, selfWith } from '../../src/lib/relative-references.js'

// What a client resolves a reference against: a gateway has another path in place of the service's prefix.
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

const paths: [from: string, path: string, reference: string][] = [
  ['/pets', '/pets', 'pets'],
  ['/pets/{petId}', '/pets', '../pets'],
  ['/shops/{id}/animals', '/pets', '../../pets'],
  ['/pets', '/shops/all', 'shops/all'],
  ['/pets/', '/pets/', '../pets/'],
  ['/pets', '/', '.'],
  ['/pets/{petId}', '/', '../'],
  ['/', '/pets', 'pets'],
  ['/pets', '/pets:search', './pets:search'],
  ['/pets/{petId}', '/pets:search', '../pets:search'],
  ['/pets', '//pets', './/pets'],
  ['/pets', '/a%2Fb/\u00e9', 'a%2Fb/%C3%A9'],
]

for (const [from, path, reference] of paths) {
  t.test(`the reference from ${from} to ${path}`, async (t) => {
    t.equal(referenceTo(path, from), reference)
    for (const base of outside) {
      const requested = base + from.replace(/\{\w+\}/g, 'a%2Fb')
      t.equal(new URL(reference, `${requested}?limit=2`).href, new URL(base + path).href)
    }
  })
}

// Each style of parameter (RFC 6570, OpenAPI), as clients write it, and what may not stand in a Link.
const queries: [query: string, kept: string][] = [
  ['', ''],
  ['?', ''],
  ['?cursor=x', ''],
  ['?limit=5&cursor=x&', ''],
  ['?c%75rsor=x', ''],
  ['?tags=a,b%2Cc&cursor=x', 'tags=a,b%2Cc&'],
  ['?tags=a&tags=b', 'tags=a&tags=b&'],
  ['?tags=a|b%20c', 'tags=a%7Cb%20c&'],
  ['?size[from]=1&size%5Bto%5D=2', 'size%5Bfrom%5D=1&size%5Bto%5D=2&'],
  ['?filter={"a":">"}', 'filter=%7B%22a%22:%22%3E%22%7D&'],
  ['?cursors=x&q=cursor=1', 'cursors=x&q=cursor=1&'],
]

for (const [query, kept] of queries) {
  t.test(`the reference to another page of /pets${query}`, async (t) => {
    const reference = selfWith(`/v1/pets${query}`, 'pets', { limit: 20, cursor: 'a/+&=>' })
    t.equal(reference, `pets?${kept}limit=20&cursor=a%2F%2B%26%3D%3E`)
  })
}
