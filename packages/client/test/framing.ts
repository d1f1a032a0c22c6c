import t from 'tap'
import { itemLengthMax, itemReader, type SentItem } from '../src/framing.js'

function read(framing: 'sse' | 'lines', texts: readonly string[]): SentItem[] {
  const reader = itemReader(framing)
  return [...texts.flatMap((text) => reader.push(text)), ...reader.end()]
}

// As in the WHATWG HTML standard, section 9.2.6, and in browsers.
const events: [title: string, text: string, items: SentItem[]][] = [
  ['lines of data', 'data: a\ndata:\ndata:  b\n\n', [{ data: 'a\n\n b' }]],
  ['a field without a colon', 'data\n\ndata\ndata\n\n', [{ data: '' }, { data: '\n' }]],
  ['a colon in the data', 'data: a: b:c\n\n', [{ data: 'a: b:c' }]],
  ['every field', 'event: e\nid: 7\nretry: 15\ndata: 1\n\n', [{ event: 'e', id: '7', retry: 15, data: '1' }]],
  [
    'the last of a field',
    'event: a\nevent: b\nid: 1\nid: 2\ndata: 1\n\n',
    [{ event: 'b', id: '2', data: '1' }],
  ],
  ['comments', ': alive\n\n:\ndata: 1\n: no\n\n', [{}, { data: '1' }]],
  ['unknown fields', 'Data: 1\n data: 2\ndata : 3\nfoo: 4\n\n', [{}]],
  ['an id without data', 'id: 9\n\n', [{ id: '9' }]],
  ['an id with NUL', 'id: 1\0\ndata: 1\n\n', [{ data: '1' }]],
  ['an empty id', 'id\ndata: 1\n\n', [{ id: '', data: '1' }]],
  ['a retry that is no number', 'retry: 1s\nretry: -1\nretry:\ndata: 1\n\n', [{ data: '1' }]],
  ['line separators of Unicode', 'data: a\u2028b\u0085c\n\n', [{ data: 'a\u2028b\u0085c' }]],
  ['an event that is cut off', 'data: 1\n\ndata: 2\n', [{ data: '1' }]],
]
for (const [title, text, items] of events) {
  t.test(`an event stream has ${title}`, async (t) => {
    for (const end of ['\n', '\r', '\r\n']) {
      const written = text.replaceAll('\n', end)
      const kept = items.map((item) =>
        'data' in item ? { ...item, data: item.data?.replaceAll(end, '\n') } : item,
      )
      t.strictSame(read('sse', [written]), kept, JSON.stringify(end))
      t.strictSame(read('sse', [...written]), kept, `${JSON.stringify(end)}, character by character`)
      for (let at = 1; at < written.length; at++)
        t.strictSame(read('sse', [written.slice(0, at), '', written.slice(at)]), kept, `cut at ${at}`)
    }
  })
}

t.test(
  'an event is there as soon as its last line has ended, even if a CR could become a CRLF',
  async (t) => {
    const reader = itemReader('sse')
    t.strictSame(reader.push('data: 1\r\r'), [{ data: '1' }])
    t.strictSame(reader.push('\ndata: 2\r\n\r'), [{ data: '2' }])
    t.strictSame(reader.push('\n'), [])
  },
)

t.test('lines and sequences of JSON have an item for each text', async (t) => {
  const text = '{"a":1}\n\n  \r\n\u001e[1]\n\u001e\u001e2\n"last"'
  const items = ['{"a":1}', '[1]', '2', '"last"'].map((data) => ({ data }))
  t.strictSame(read('lines', [text]), items)
  t.strictSame(read('lines', [...text]), items)
})

t.test('an item without an end does not fill the memory', async (t) => {
  const piece = 'x'.repeat(itemLengthMax / 4)
  const pieces = Array<string>(5).fill(piece)
  const tooLong = { name: 'RangeError', message: `An item is longer than ${itemLengthMax} characters.` }
  t.throws(() => read('lines', pieces), tooLong)
  t.throws(() => read('sse', pieces), tooLong)
  t.throws(
    () =>
      read(
        'sse',
        pieces.map((each) => `data: ${each}\n`),
      ),
    tooLong,
  )
  t.throws(() => read('sse', [`id: ${piece}`, ...pieces]), tooLong)
})

t.test('a long item in small pieces takes no time that grows with its square', async (t) => {
  const count = 200_000
  const reader = itemReader('sse')
  const before = process.cpuUsage().user
  reader.push('data: ')
  for (let i = 0; i < count; i++) reader.push('0123456789')
  t.equal(reader.push('\n\n')[0]?.data?.length, 10 * count)
  t.ok(process.cpuUsage().user - before < 2e6, 'about 0.1 s; searched again with each piece: over 20 s')
})
