// In the test documents, replaces each field of each kind of place by each other kind of value
// (mutations.ts).

import t from 'tap'
import { faultsOf, mutations } from './fixtures/mutations.js'

t.test('a document with another value anywhere is refused at its place, or read', async (t) => {
  const all = await mutations()
  t.ok(all.length > 1000)
  const found: string[] = []
  for (const mutation of all)
    found.push(...(await faultsOf(mutation)).map((fault) => `${mutation.name}: ${fault}`))
  t.strictSame(found, [])
})
