import { createHash } from 'node:crypto'
import t from 'tap'
import { createApiKey, hashApiKey, isApiKey } from '../../src/auth/api-key.js'

t.test('a key is a prefix, 30 random letters and digits, and a checksum of 6', async (t) => {
  t.match(createApiKey(), /^ask_[0-9A-Za-z]{36}$/)
})

// Computed independently: a change of the format would invalidate every issued key.
t.test('a key issued before stays valid', async (t) => {
  t.ok(isApiKey('ask_0000000000000000000000000000000rnHFh'))
})

t.test('10,000 keys are all valid and all different', async (t) => {
  const keys = Array.from({ length: 10_000 }, createApiKey)
  t.ok(keys.every(isApiKey))
  t.equal(new Set(keys).size, keys.length)
})

t.test('every change of one character is caught', async (t) => {
  const valid = createApiKey()
  const passed = [...valid].flatMap((_, i) =>
    [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_ '].flatMap((character) => {
      const changed = valid.slice(0, i) + character + valid.slice(i + 1)
      return changed !== valid && isApiKey(changed) ? [changed] : []
    }),
  )
  t.strictSame(passed, [])
})

t.test('every swap of two neighbours is caught', async (t) => {
  const valid = createApiKey()
  const passed = [...valid].flatMap((character, i) => {
    const swapped = valid.slice(0, i) + (valid[i + 1] ?? '') + character + valid.slice(i + 2)
    return swapped !== valid && isApiKey(swapped) ? [swapped] : []
  })
  t.strictSame(passed, [])
})

const malformed: [title: string, change: (valid: string) => string][] = [
  ['nothing', () => ''],
  ['a character too few', (valid) => valid.slice(0, -1)],
  ['a character too many', (valid) => `${valid}0`],
  ['a line break after it', (valid) => `${valid}\n`],
  ['a blank before it', (valid) => ` ${valid}`],
  ['another prefix', (valid) => valid.replace(/^[a-z]+_/, (prefix) => prefix.toUpperCase())],
]

for (const [title, change] of malformed) {
  t.test(`${title} is not a key`, async (t) => {
    const valid = createApiKey()
    t.ok(isApiKey(valid))
    t.notOk(isApiKey(change(valid)))
  })
}

t.test('a key is stored as its SHA-256 in hex', async (t) => {
  const valid = createApiKey()
  t.equal(hashApiKey(valid), createHash('sha256').update(valid).digest('hex'))
  t.equal(hashApiKey('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})
