import { inspect } from 'node:util'
import t from 'tap'
import { createAjv } from '../../../src/compile/schemas/ajv.js'

const isUnique = createAjv('check').compile({ type: 'array', uniqueItems: true })

const equal: [a: unknown, b: unknown][] = [
  [1, 1],
  [1, 1n],
  [0, -0],
  [2n ** 60n, 2 ** 60],
  [1e21, 10n ** 21n],
  ['a', 'a'],
  [null, null],
  [{}, {}],
  [
    { a: 1, b: [2n] },
    { b: [2], a: 1n },
  ],
  [{ a: 1 }, { a: 1, b: undefined }],
  [Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  [Buffer.from('a'), new Uint8Array([97])],
]

const different: [a: unknown, b: unknown][] = [
  [1, '1'],
  [1, true],
  [1, 1.5],
  [2n ** 60n, 2n ** 60n + 1n],
  [null, 'null'],
  [null, false],
  [[], {}],
  [['a', 'b'], ['a,b']],
  [
    ['a"', 'b'],
    ['a', '"b'],
  ],
  [
    [1, 2],
    [2, 1],
  ],
  [{ a: 1 }, { b: 1 }],
  [{ a: 1, b: 2 }, { a: '1,"b":2' }],
  [{ a: { b: 1 } }, { a: {}, b: 1 }],
  [{ a: null }, {}],
  [Buffer.from('a'), Buffer.from('b')],
  [Buffer.from('a'), 'bytes YQ=='],
]

const shown = (value: unknown) => inspect(value, { breakLength: Number.POSITIVE_INFINITY })

for (const [a, b] of equal) {
  t.test(`${shown(a)} and ${shown(b)} are the same item`, async (t) => {
    t.notOk(isUnique([a, 'other', b]))
    t.match(isUnique.errors, [{ keyword: 'uniqueItems', message: /, as at 2$/ }])
    t.notOk(isUnique([b, a]))
  })
}

for (const [a, b] of different) {
  t.test(`${shown(a)} and ${shown(b)} are two items`, async (t) => {
    t.ok(isUnique([a, b]))
    t.ok(isUnique([[a], [b]]))
  })
}

t.test('no item is twice in an empty array, and any may be without uniqueItems', async (t) => {
  t.ok(isUnique([]))
  t.ok(isUnique([1]))
  t.ok(createAjv('check').validate({ uniqueItems: false }, [1, 1]))
})
