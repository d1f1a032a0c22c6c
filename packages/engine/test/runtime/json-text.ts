// Random texts, made together with their values, which are thus known. SEED=2 for others.

import { isDeepStrictEqual } from 'node:util'
import { isNightly, rounds } from 'contract-testing/nightly'
import { Random } from 'contract-testing/random-schemas'
import t from 'tap'
import type { RequestError } from '../../src/document/request-error.js'
import { parseJson } from '../../src/runtime/json.js'

const random = new Random(Number(process.env.SEED ?? 1))
const count = rounds(5_000)

type Written = readonly [text: string, value: unknown]

const numbers: readonly Written[] = [
  ...([
    ['0', 0],
    ['-0', -0],
    ['12', 12],
    ['1.50', 1.5],
    ['1e3', 1000],
    ['12E-1', 1.2],
  ] as const),
  ['999999999999999', 999999999999999],
  ['9007199254740993', 9007199254740993n],
  ['-90071992547409930e-1', -9007199254740993n],
  ['1e17', 100000000000000000n],
  ['0.30000000000000004', 0.30000000000000004],
]
const texts: readonly Written[] = [
  ...([
    ['""', ''],
    ['"a"', 'a'],
    ['"1"', '1'],
    ['"é😀"', 'é😀'],
    ['"a\\\\"', 'a\\'],
  ] as const),
  ...([
    ['"\\u0061"', 'a'],
    ['"\\n\\/\\""', '\n/"'],
    ['"\\ud83d\\ude00"', '😀'],
  ] as const),
  ['"__proto__"', '__proto__'],
  ['"n\\u00411"', 'nA1'],
]
const words: readonly Written[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

const blank = () => (random.is(0.2) ? random.pick([' ', '\n', '\t', '\r', ' \n ']) : '')

function written(depth: number): Written {
  if (depth === 0 || random.is(0.3)) return random.pick(random.pick([numbers, texts, words]))
  const members = Array.from({ length: random.below(4) }, () => written(depth - 1))
  if (random.is(0.5)) {
    const items = members.map(([text]) => blank() + text + blank())
    return [`[${blank()}${items.join()}]`, members.map(([, value]) => value)]
  }
  const fields = new Map(members.map((member) => [random.pick(texts), member]))
  const byName = new Map([...fields].map(([name, member]) => [name[1], { name, member }]))
  const all = [...byName.values()]
  const pairs = all.map(
    ({ name, member }) => `${blank()}${name[0]}${blank()}:${blank()}${member[0]}${blank()}`,
  )
  return [
    `{${blank()}${pairs.join()}}`,
    Object.fromEntries(all.map(({ name, member }) => [name[1], member[1]])),
  ]
}

const parse = (text: string) => parseJson(Buffer.from(text))

t.test('random texts have the values that they were made of', async (t) => {
  const all = Array.from({ length: count }, () => written(4))
  const wrong = all.filter(([text, value]) => !isDeepStrictEqual(parse(blank() + text + blank()), value))
  t.strictSame(wrong, [])
})

t.test('a damaged text is refused if JSON.parse refuses it', async (t) => {
  const marks = ['', ',', ']', '}', '{', '"', ':', '\\', '0', '.', 'e', '-', 'n', '\u0001']
  const all = Array.from({ length: count }, () => {
    const [text] = written(3)
    const at = random.below(text.length)
    return text.slice(0, at) + random.pick(marks) + text.slice(at + random.below(2))
  })
  const accepted = all.filter((text) => !isJson(text) && codeOf(text) !== 'invalid_json')
  t.strictSame(accepted, [])
})

function codeOf(text: string): string | undefined {
  try {
    parse(text)
    return undefined
  } catch (error) {
    return (error as RequestError).code // undefined for any other error
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const long: [title: string, text: (bytes: number) => string][] = [
  ['a text behind a blank', (bytes) => `{"a": "${'x'.repeat(bytes)}"}`],
  ['a text of escapes', (bytes) => `["${'\\n'.repeat(bytes / 2)}"]`],
  ['a text of escaped pairs', (bytes) => ` "${'\\ud83d\\ude00'.repeat(bytes / 12)}"`],
  ['a number', (bytes) => `[0.${'0'.repeat(bytes)}]`],
  ['a name', (bytes) => `{"${'x'.repeat(bytes)}": 9007199254740993}`],
]

for (const [title, text] of long) {
  t.test(`${title} of megabytes is read`, async (t) => {
    for (const bytes of isNightly ? [1e6, 1e7, 5e7] : [1e6, 5e6]) t.ok(parse(text(bytes)) !== undefined)
  })
}
