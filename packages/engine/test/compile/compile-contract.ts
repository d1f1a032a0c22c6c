// The values that a plan can hold.

import t from 'tap'
import { compileContract } from '../../src/compile/index.js'
import type { ExtensionReader } from '../../src/document/extension-readers.js'
import { loadContract } from '../../src/index.js'

const text = `openapi: 3.1.0
info: { title: Toys, version: 1.0.0 }
x-toy: 1
paths:
  /toys: { get: { operationId: listToys, x-shelf: 2, responses: { '204': { description: None. } } } }
`
const readText = async () => text

t.test('a plan holds what readers of extensions make, if it is plain data', async (t) => {
  const dolls = { name: 'Doll' }
  const value = {
    at: new Date(0),
    ids: new Map([[1n, dolls]]),
    none: undefined,
    dolls,
    max: Number.POSITIVE_INFINITY,
  }
  const readers = { 'x-toy': () => value }
  const plan = await compileContract('openapi.yaml', {
    readText,
    readers,
    operationReaders: { 'x-shelf': () => value },
  })
  const { extensions, operations } = await loadContract<typeof readers>(plan, 'openapi.yaml', { readText })
  t.strictSame(extensions, { 'x-toy': value })
  t.equal(extensions['x-toy']?.ids.get(1n), extensions['x-toy']?.dolls)
  t.equal(operations.get('listToys')?.extensions['x-shelf'], extensions['x-toy'])
})

class Toy {
  readonly name = 'Doll'
}

for (const [title, read] of [
  ['a function', () => () => 1],
  ['an object of a class', () => new Toy()],
  ['an object without a prototype', () => Object.create(null)],
] satisfies [string, ExtensionReader][])
  t.test(`${title} is no plain data, and the contract is refused`, async (t) => {
    const message = (name: string) =>
      `a plan holds plain data, which the reader of an extension does not return: ${name}`
    await t.rejects(compileContract('openapi.yaml', { readText, readers: { 'x-toy': read } }), {
      name: 'ContractError',
      message: message('x-toy'),
    })
    await t.rejects(compileContract('openapi.yaml', { readText, operationReaders: { 'x-shelf': read } }), {
      name: 'ContractError',
      message: message('x-shelf'),
    })
  })
