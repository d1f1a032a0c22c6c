// Fingerprints are computed from the text of a value, so it must equal that of earlier releases. They used
// lossless-json on copies with sorted names.

import { hash } from 'node:crypto'
import { Random } from 'contract-testing/random-schemas'
import { LosslessNumber, stringify } from 'lossless-json'
import t from 'tap'
import { canonicalJson } from '../../src/lib/canonical-json.js'

// The code of release 1.0.0.
function inOrder(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return hash('sha256', value)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
}

const numbers = [0, -0, 1, -1.5, 1e21, 1e-7, 2 ** 53, 5e-324, Number.MAX_VALUE, Number.NaN, -Infinity]
const bigints = [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 10n ** 400n]
const texts = [
  '',
  'Rex',
  'ünï 🐕',
  '"\\/\u2028\u007f',
  '\u0000\u001f\n',
  '\ud800',
  'a\udfff',
  '0',
  '__proto__',
]
const without = [undefined, () => 1, Symbol('s')] // JSON cannot express these
const scalars = [...numbers, ...bigints, ...texts, ...without, null, true, false]

const bytes = [new Uint8Array(), Uint8Array.of(0, 255), Buffer.from('Rex')]
class Upload {
  type = 'text/plain'
  #own = 1
  get size() {
    return this.#own
  }
}
const objects = [
  ...[new Date(0), new LosslessNumber('1.0'), new Upload(), new File(['a'], 'a.txt'), new Map([[1, 2]])],
  ...[new String('ab'), new Number(1), new Boolean(false), Int16Array.of(3, 4), Object.create({ a: 1 })],
]

const names = [
  ...['a', 'b', 'B', 'ä', '', ' ', '!', '-1', '01', '1.5', '1e3', 'toString', 'constructor', '\ud800', '"'],
  ...['0', '1', '9', '10', '4294967294', '4294967295', '4294967296', '9007199254740993', '__proto__'],
]

// Its names are its own properties, in any order, as in a result of JSON.parse.
function object(entries: readonly (readonly [string, unknown])[], hasPrototype = true): object {
  const made = hasPrototype ? {} : Object.create(null)
  for (const [name, value] of entries)
    Object.defineProperty(made, name, { value, enumerable: true, configurable: true, writable: true })
  return made
}

function randomValue(random: Random, depth: number): unknown {
  const kind = random.below(depth > 0 ? 8 : 5)
  if (kind < 4) return random.pick(scalars)
  if (kind === 4) return random.pick<unknown>([...bytes, ...objects])
  const inner = () => randomValue(random, depth - 1)
  if (kind === 5) return Array.from({ length: random.below(4) }, inner)
  const chosen = random.some(names, random.next()).sort(() => random.next() - 0.5)
  return object(
    chosen.map((name) => [name, inner()]),
    kind === 6,
  )
}

t.test('the canonical text of a value is that of the releases before', async (t) => {
  const holes = [1, undefined, 2]
  delete holes[1]
  const many = object(Array.from({ length: 200 }, (_, i) => [`${i % 2 ? 'n' : ''}${(i * 7) % 200}`, i]))
  const values = [...scalars, ...bytes, ...objects, [], {}, [[]], holes, many]
  const random = new Random(1)
  const all = [...values, ...Array.from({ length: 2_000 }, () => randomValue(random, 3))]
  const different = all.filter((value) => canonicalJson([value]) !== stringify([value], inOrder))
  t.strictSame(different, [])
  t.ok(new Set(all.map((value) => canonicalJson([value]))).size > 500, 'of many values')
})

// Values that a simpler implementation would write differently.
for (const [title, value, text] of [
  ['names like indices come first, by number', { b: 1, 10: 1, '!': 1, 9: 1 }, '{"9":1,"10":1,"!":1,"b":1}'],
  [
    'a name of a prototype is a name',
    JSON.parse('{"a":1,"__proto__":{"b":2}}'),
    '{"__proto__":{"b":2},"a":1}',
  ],
  ['a bigint has all of its digits', { id: 9223372036854775807n }, '{"id":9223372036854775807}'],
  ['a member without a value is left out', { b: undefined, a: 1 }, '{"a":1}'],
  ['an element without a value is null', [undefined, Array(1)], '[null,[null]]'],
  ['half a surrogate pair is escaped', ['\ud800'], '["\\ud800"]'],
  ['bytes are their hash', [Buffer.from('x')], `["${hash('sha256', 'x')}"]`],
] as const)
  t.test(title, async (t) => {
    t.equal(canonicalJson(value), text)
    t.equal(stringify(value, inOrder), text)
  })
