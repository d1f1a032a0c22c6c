// The values of header fields, as RFC 9110 writes them, and as Fastify reads them.

import { createRequire } from 'node:module'
import t from 'tap'
import { elementsOf, namesTag, readParameters } from '../../src/lib/field-values.js'

type Values = Readonly<Record<string, string>>

const cases: readonly (readonly [text: string, values: Values, fault?: string])[] = [
  ['a/b', {}],
  ['a/b;', {}],
  ['a/b; charset=utf-8', { charset: 'utf-8' }],
  ['a/b;CharSet=UTF-8 ;; x=Y;', { charset: 'UTF-8', x: 'Y' }],
  ['a/b; charset="utf\\-8"', { charset: 'utf-8' }],
  ['a/b; a="; charset=latin1"', { a: '; charset=latin1' }],
  ['a/b; a="\\"; charset=latin1"; b="\\\\"', { a: '"; charset=latin1', b: '\\' }],
  ['a/b; a=""', { a: '' }],
  // More lenient than the grammar.
  ['a/b; charset = latin1', { charset: 'latin1' }],
  ['a/b; boundary=----=_Part_0_1.2', { boundary: '----=_Part_0_1.2' }],
  // Values that another reader may read differently.
  ['a/b; charset=utf-8; Charset=utf-8', { charset: 'utf-8' }, 'repeated'],
  ['a/b; a="b; charset=latin1', { a: 'b; charset=latin1' }, 'quotes'],
  ['a/b; a=b"c; charset=latin1', { a: 'b"c; charset=latin1' }, 'quotes'],
  ['a/b; a="b"c', { a: 'b"c' }, 'quotes'],
  ['a/b; "charset=latin1"', {}, 'quotes'],
  ['a/b; utf-8', {}, 'incomplete'],
  ['a/b; charset=', {}, 'incomplete'],
  ['a/b; é=1; =2; c d=3', {}, 'incomplete'],
]

for (const [text, values, fault] of cases)
  t.test(`the parameters of ${text}`, async (t) => {
    const read = readParameters(text)
    t.strictSame(Object.fromEntries(read.values), values)
    t.equal(read.fault, fault)
  })

t.test('a comma in quotes is part of an element', async (t) => {
  t.strictSame(elementsOf('a, "b, \\", c" ,,d'), ['a', '"b, \\", c"', '', 'd'])
  t.strictSame(elementsOf('a, "b, c'), ['a', '"b, c'])
})

// Fastify finds a body's validator by its own reading: it may not read more than this function.
t.test('what is not ambiguous is read as Fastify reads it', async (t) => {
  const ContentType: new (text: string) => { parameters: ReadonlyMap<string, string> } = createRequire(
    import.meta.url,
  )('fastify/lib/content-type.js')
  const pieces = ['charset', 'a', 'B', '=', '=', ';', '; ', '"', '"', '\\', ' ', 'utf-8', 'é', ',']
  let [seed, compared] = [3, 0]
  const below = (count: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31
    return Math.floor((seed / 2 ** 31) * count)
  }
  for (let run = 0; run < 50_000; run++) {
    const text = `a/b;${Array.from({ length: below(12) }, () => pieces[below(pieces.length)]).join('')}`
    const { values, fault } = readParameters(text)
    if (fault !== undefined || /\s=|=\s|=[^;"]*[^\w;"-]/.test(text)) continue
    compared++
    const theirs = new ContentType(text).parameters
    if (JSON.stringify([...theirs]) !== JSON.stringify([...values])) t.fail(text)
  }
  t.ok(compared > 2_000, `${compared} texts`)
})

t.test('a list of entity tags names one strongly or weakly, and what is no tag names none', async (t) => {
  const rows: readonly (readonly [list: string, tag: string, strongly: boolean, weakly: boolean])[] = [
    ['*', '"a"', true, true],
    ['"a"', '"a"', true, true],
    [' "b" ,\t"a"', '"a"', true, true],
    ['"b","a,c"', '"a,c"', true, true],
    ['"b\\", "a"', '"a"', true, true],
    ['W/"a"', '"a"', false, true],
    ['"b", W/"a"', '"a"', false, true],
    ['W/"a", "a"', '"a"', true, true],
    ['"b, "a", "c"', '"a"', false, false],
    ['w/"a"', '"a"', false, false],
    ['x"a"', '"a"', false, false],
    ['"a"x', '"a"', false, false],
    ['"b""a"', '"a"', false, false],
    ['a', '"a"', false, false],
    ['', '"a"', false, false],
    ['*, "b"', '"a"', false, false],
  ]
  for (const [list, tag, strongly, weakly] of rows) {
    t.equal(namesTag(list, tag, false), strongly, `${list} strongly`)
    t.equal(namesTag(list, tag, true), weakly, `${list} weakly`)
  }
})
