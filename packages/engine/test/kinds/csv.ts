// Responses in CSV: what is written, what is refused when the contract is read, and what a handler cannot send.

import t from 'tap'
import type { Content } from '../../src/document/contract.js'
import { createCsvWriter } from '../../src/kinds/csv.js'
import { contractWith, startEngine } from '../../src/testing/engine.js'

const write = (columns: readonly string[], rows: readonly object[], mediaType = 'text/csv') =>
  createCsvWriter({ mediaType, kind: 'csv', columns } as Content)(rows as Record<string, unknown>[])

t.test('fields are written as RFC 4180 says, and nothing is altered', (t) => {
  const cases: readonly (readonly [value: unknown, text: string])[] = [
    ['a', 'a'],
    ['', '""'],
    [null, ''],
    [undefined, ''],
    [true, 'true'],
    [false, 'false'],
    [0, '0'],
    [-0, '0'],
    [1.5, '1.5'],
    [1e21, '1e+21'],
    [-9223372036854775808n, '-9223372036854775808'],
    ['a,b', '"a,b"'],
    ['a;b', 'a;b'],
    ['say "a"', '"say ""a"""'],
    ['"', '""""'],
    ['a\nb', '"a\nb"'],
    ['a\r\nb', '"a\r\nb"'],
    ['a\rb', '"a\rb"'],
    [' a ', '" a "'],
    ['é 😀', 'é 😀'],
    // What a spreadsheet may take for a formula, it gets as it is.
    ['=1+1', '=1+1'],
    ['+1', '+1'],
    ['-1', '-1'],
    ['@a', '@a'],
    ['\ta', '\ta'],
  ]
  for (const [value, text] of cases)
    t.equal(write(['a', 'b'], [{ a: value, b: 1 }]), `a,b\r\n${text},1\r\n`, JSON.stringify(text))
  t.end()
})

t.test('rows and columns', (t) => {
  t.equal(write(['b', 'a'], []), 'b,a\r\n', 'the header of no rows')
  t.equal(write(['b', 'a'], [{ a: 1, b: 2 }, { a: 3 }, {}]), 'b,a\r\n2,1\r\n,3\r\n,\r\n')
  t.equal(write(['a,b', ''], [{ 'a,b': 1 }]), '"a,b",""\r\n1,\r\n', 'names that need quotes')
  t.equal(write(['toString', 'a'], [{ a: 1 }]), 'toString,a\r\n,1\r\n', 'an inherited name is absent')
  t.equal(
    write(['a'], [{}, { a: null }, { a: 1 }]),
    'a\r\n""\r\n""\r\n1\r\n',
    'an empty line would be no row',
  )
  t.equal(write(['a'], [{ a: 1 }], 'text/csv; header=absent'), '1\r\n', 'without a header')
  t.equal(write(['a'], [], 'text/csv; header=absent'), '')
  t.equal(write(['a'], [{ a: 1, b: undefined }]), 'a\r\n1\r\n')
  t.throws(
    () => write(['a'], [{ a: 1, b: 2 }]),
    /^the field b has no column: its schema does not declare it$/,
  )
  t.throws(() => write(['a'], [{ a: '\ud800' }]), /^text has a lone surrogate, which UTF-8 cannot hold$/)
  t.end()
})

// What a reader of RFC 4180 makes of it.
function parse(text: string): string[][] {
  const rows: string[][] = []
  for (const line of text.match(/(?:"(?:[^"]|"")*"|[^"\r\n])*\r\n/g) ?? []) {
    const fields = line.slice(0, -2).match(/(?:^|,)(?:"(?:[^"]|"")*"|[^",]*)/g) ?? []
    const values = fields.map((field, i) =>
      i > 0 || field.startsWith(',') ? field.replace(/^,/, '') : field,
    )
    rows.push(
      values.map((value) => (value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value)),
    )
  }
  return rows
}

t.test('random texts are read as they were written', (t) => {
  let seed = 3
  const below = (count: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31
    return Math.floor((seed / 2 ** 31) * count)
  }
  const characters = [...'ab,"\r\n ;=\t', '\r\n', '""', ',"']
  const text = () => Array.from({ length: below(6) }, () => characters[below(characters.length)]).join('')
  for (let run = 0; run < 2_000; run++) {
    const rows = Array.from({ length: 1 + below(3) }, () => [text(), text(), text()])
    const written = write(
      ['a', 'b', 'c'],
      rows.map(([a, b, c]) => ({ a, b, c })),
    )
    const read = parse(written).slice(1)
    if (JSON.stringify(read) !== JSON.stringify(rows)) t.strictSame(read, rows, JSON.stringify(written))
  }
  t.end()
})

const flat = { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' } } }
const table = (items: unknown, more = {}) => ({ type: 'array', items, ...more })
const operation = (schema: unknown, mediaType = 'text/csv', others = {}) => {
  const content = { ...others, [mediaType]: { schema } }
  return { values: { method: 'get', responses: { 200: { description: 'A.', content } } } }
}

t.test('a schema that is no table is refused', async (t) => {
  const place = 'GET /values: the response 200 text/csv cannot be written as CSV:'
  const nested = (name: string) =>
    `the field ${name} may be an array or an object, which a column cannot hold`
  const of = (properties: object) => table({ type: 'object', properties })
  const cases: readonly (readonly [schema: object, reason: string])[] = [
    [of({ tags: { type: 'array' } }), nested('tags')],
    [of({ owner: { type: ['object', 'null'] } }), nested('owner')],
    [of({ any: {} }), nested('any')],
    [of({ any: true }), nested('any')],
    [of({ some: { oneOf: [{ type: 'string' }, { type: 'array' }] } }), nested('some')],
    [of({ again: { $ref: '#/components/schemas/Tree' } }), nested('again')],
    [table({ $ref: '#/components/schemas/Tree' }), nested('children')],
    [table({ type: 'object' }), 'the items declare no properties'],
    [table({ type: 'string' }), 'the items must have type: object'],
    [table({ type: ['object', 'null'], properties: {} }), 'the items must have type: object'],
    [{ type: 'array' }, 'the array must describe all its items by items'],
    [{ type: 'array', prefixItems: [flat] }, 'the array must describe all its items by items'],
    [
      table({ ...flat, additionalProperties: { type: 'string' } }),
      'the fields of additionalProperties have no column',
    ],
    [table({ ...flat, patternProperties: { '^x-': {} } }), 'the fields of patternProperties have no column'],
  ]
  const tree = {
    type: 'object',
    properties: { children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } } },
  }
  for (const [schema, reason] of cases) {
    const contract = await contractWith(operation(schema), { schemas: { Tree: tree } })
    t.strictSame(contract.operations.get('values')?.unsupported, [`${place} ${reason}`])
  }
  const ofUtf16 = await contractWith(operation(table(flat), 'text/csv; charset=utf-16'))
  t.match(ofUtf16.operations.get('values')?.unsupported, [/it is sent in UTF-8$/])
  const beside = await contractWith(operation(of({ any: {} }), 'text/csv', { 'application/json': {} }))
  t.strictSame(beside.operations.get('values')?.unsupported, [], 'beside JSON it is a warning')
  t.match(beside.warnings, [{ text: `${place} ${nested('any')}` }])
})

t.test('columns are the properties in their order, also those of allOf, without writeOnly', async (t) => {
  const columnsOf = async (schema: object) => {
    const contract = await contractWith(operation(schema), {
      schemas: { Flat: flat, Id: { type: 'integer' } },
    })
    return contract.operations.get('values')?.responses.get('200')?.contents[0]?.columns
  }
  const more = {
    type: 'object',
    properties: { b: { enum: [1, 'x', null] }, a: { $ref: '#/components/schemas/Id' } },
  }
  t.strictSame(await columnsOf(table({ $ref: '#/components/schemas/Flat' })), ['id', 'name'])
  t.strictSame(await columnsOf(table({ allOf: [{ $ref: '#/components/schemas/Flat' }, more] })), [
    'id',
    'name',
    'b',
    'a',
  ])
  t.strictSame(await columnsOf(table({ oneOf: [flat, more] })), ['id', 'name', 'b', 'a'])
  const hidden = {
    type: 'object',
    properties: { z: { type: 'string', writeOnly: true }, a: { type: 'string' }, no: false },
  }
  t.strictSame(await columnsOf(table(hidden)), ['a'])
  t.strictSame(await columnsOf(table({ ...flat, additionalProperties: false })), ['id', 'name'])
})

t.test('CSV alone, validated before it is written', async (t) => {
  const answer: { now: object } = { now: {} }
  const contract = await contractWith(operation(table(flat), 'text/csv; header=absent'))
  const { call, log } = await startEngine(t, contract, { values: async () => answer.now })
  answer.now = { status: 200, body: [{ id: 1, name: 'a' }] }
  const good = await call('GET', '/values')
  t.match(good, { status: 200, text: '1,a\r\n' })
  t.equal(good.headers.get('content-type'), 'text/csv; header=absent; charset=utf-8')
  t.equal(good.headers.get('vary'), null)
  const bad: readonly (readonly [body: unknown, message: string])[] = [
    [[{ id: 'x' }], 'values 200: body at "/0/id" must be an integer'],
    ['id\r\n1', 'values 200: body at "" must be array'],
    [
      [{ id: 1, more: 2 }],
      'values 200: body cannot be written as CSV: the field more has no column: its schema does not declare it',
    ],
    [
      [{ name: '\udc00' }],
      'values 200: body cannot be written as CSV: text has a lone surrogate, which UTF-8 cannot hold',
    ],
  ]
  for (const [body, message] of bad) {
    answer.now = { status: 200, body }
    t.match(await call('GET', '/values'), { status: 500 }, message)
    t.match(log.at(-1), { err: { message } })
  }
})
