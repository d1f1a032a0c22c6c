// One contract, inline and with every kind of `$ref`: to contract:diff and to the client, both are the same.

import { clientTable } from 'contract-client/generate'
import { diffContracts, lineOf } from 'contract-diff'
import type { Node } from 'contract-engine/tools'
import { isNightly } from 'contract-testing/nightly'
import { contractOf, forms, inline, kinds, one } from 'contract-testing/references'
import { text } from 'contract-testing/references-document'
import t from 'tap'
import { parse } from 'yaml'

function withoutSelf({ $self: _, ...document }: Node): Node {
  return document
}

t.test('the table of the client is the same', async (t) => {
  const expected = clientTable(await contractOf(one(inline)))
  for (const [title, filesOf] of forms)
    t.strictSame(clientTable(await contractOf(filesOf(inline))), expected, title)
})

// An edit of each kind of object.
const edits: readonly (readonly [from: string, to: string])[] = [
  ['description: Later.', 'description: Too many.'],
  ['maximum: 10', 'maximum: 9'],
  ['value: 2', 'value: 3'],
  ['description: A scan.', 'description: A picture.'],
  ['format: date-time', 'format: date'],
  ['required: true, schema: { type: integer, format: int64 }', 'schema: { type: integer, format: int64 }'],
  ['description: A key.', 'description: The key.'],
  ['name: X-Key', 'name: X-Other'],
  ['description: The same again.', 'description: Again.'],
  [
    "application/json: { schema: { $ref: '#/components/schemas/Order' } } }\n              responses: { '204'",
    "application/json: { schema: { $ref: '#/components/schemas/Id' } } }\n              responses: { '204'",
  ],
  ['summary: Orders.', 'summary: All orders.'],
  ["itemSchema: { $ref: '#/components/schemas/Event' }", 'itemSchema: { type: object }'],
  ["itemSchema: { $ref: '#/components/schemas/Order' }", "itemSchema: { $ref: '#/components/schemas/Id' }"],
  ['contentType: image/png', 'contentType: image/gif'],
]

t.test('contract:diff finds nothing where what stood there is referred to, or the reverse', async (t) => {
  for (const [title, filesOf] of forms) {
    const { document } = await contractOf(filesOf(inline))
    const after = withoutSelf(document as Node)
    t.strictSame(diffContracts(inline, after).map(lineOf), [], title)
    t.strictSame(diffContracts(after, inline).map(lineOf), [], `${title}, back`)
  }
})

t.test('contract:diff sees the same edit of what is referred to', async (t) => {
  for (const [i, [from, to]] of edits.entries()) {
    const edited: Node = parse(text.replaceAll(from, to))
    const kindsOf = (before: Node, after: Node) => {
      const changes = diffContracts(withoutSelf(before), withoutSelf(after))
      return [...new Set(changes.map(({ bump, what }) => `${bump} ${what}`))].sort()
    }
    const expected = kindsOf(inline, edited)
    t.ok(expected.length > 0, `${from} -> ${to}`)
    // A different form for each edit; in a nightly run, every form.
    const others = forms.slice(kinds.length)
    for (const [title, filesOf] of others.filter((_, j) => isNightly || j === i % others.length)) {
      const [before, after] = [await contractOf(filesOf(inline)), await contractOf(filesOf(edited))]
      t.strictSame(
        kindsOf(before.document as Node, after.document as Node),
        expected,
        `${from} -> ${to}, ${title}`,
      )
    }
  }
})
