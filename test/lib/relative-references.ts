import t from 'tap'
import { referenceTo, selfReference } from '../../src/lib/relative-references.js'

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
