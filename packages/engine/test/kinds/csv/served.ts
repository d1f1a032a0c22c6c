// Responses in CSV: what the server writes, what it refuses when it reads the contract, and what a handler
// cannot send.

import { generateOperations } from 'contract-engine/generate'
import { contractWith, done, startEngine } from 'contract-testing/engine'
import { rounds } from 'contract-testing/nightly'
import { runWithout } from 'contract-testing/without-package'
import t, { type Test } from 'tap'
import { parse as parseYaml } from 'yaml'
import type { Content } from '../../../src/document/contract.js'
import { createCsvWriter } from '../../../src/kinds/csv/served.js'

const write = (columns: readonly string[], rows: readonly object[], mediaType = 'text/csv') => {
  const writer = createCsvWriter({ mediaType, kind: 'csv', columns } as Content)
  return writer.header + writer.rows(rows as Record<string, unknown>[])
}

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
    // Texts that a spreadsheet may take for a formula are sent unchanged.
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

// Reads CSV as RFC 4180 says.
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
  for (let run = 0; run < rounds(2_000); run++) {
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

const exported = {
  type: 'object',
  required: ['id'],
  properties: {
    id: { type: 'integer', format: 'int64' },
    name: { type: ['string', 'null'] },
    born: { type: 'string', format: 'date' },
    weight: { type: 'number' },
    secret: { type: 'string', writeOnly: true },
  },
}
const streamOf = (itemSchema: unknown, mediaType = 'text/csv') => ({
  values: {
    method: 'get',
    responses: { 200: { description: 'A.', content: { [mediaType]: { itemSchema } } } },
  },
})

async function startExport(t: Test, mediaType?: string) {
  const answer: { now: object } = { now: {} }
  const contract = await contractWith(streamOf(exported, mediaType), { openapi: '3.2.0' })
  const { call, log, origin } = await startEngine(t, contract, { values: async () => answer.now })
  const get = async (body: unknown) => {
    answer.now = { status: 200, body }
    return call('GET', '/values')
  }
  return { get, log, origin }
}

t.test('a stream of CSV has the names of its columns, and a row for each item, exactly', async (t) => {
  const { get } = await startExport(t)
  async function* rows() {
    yield { id: 9007199254740993n, name: 'a, "b"\nc', born: '2026-01-31', weight: 0.1 }
    yield { id: 2, name: null }
    yield { weight: 1e21, id: -3, name: '' }
    yield { id: 4, name: '=1+1' }
  }
  const { status, text, headers } = await get(rows())
  t.equal(status, 200)
  t.equal(
    text,
    'id,name,born,weight\r\n9007199254740993,"a, ""b""\nc",2026-01-31,0.1\r\n2,,,\r\n-3,"",,1e+21\r\n4,=1+1,,\r\n',
  )
  t.equal(headers.get('content-type'), 'text/csv; charset=utf-8; header=present')
  t.equal(headers.get('x-accel-buffering'), 'no')
  t.equal((await get([])).text, 'id,name,born,weight\r\n', 'the header of no rows')
})

t.test('a stream of CSV without a header has rows alone', async (t) => {
  const { get } = await startExport(t, 'text/csv; header=absent')
  t.equal((await get([{ id: 1 }, { id: 2 }])).text, '1,,,\r\n2,,,\r\n')
  t.equal((await get([])).text, '')
})

t.test('an item of CSV that is not valid is a 500, or behind the first a cut, and is logged', async (t) => {
  const { get, log } = await startExport(t)
  t.match(await get([{ id: 'x' }]), { status: 500 })
  t.match(log.at(-1), { err: { message: 'values 200: body at "/0/id" must be an integer' } })
  t.match(await get([{ id: 1, more: 2 }]), { status: 500 })
  const lost = 'the field more has no column: its schema does not declare it'
  t.match(log.at(-1), { err: { message: `values 200: body at "/0" cannot be written as CSV: ${lost}` } })
  t.match(await get([{ id: 1, secret: 'x' }]), { status: 500 })
  t.match(await get({ id: 1 }), { status: 500 })
  await t.rejects(get([{ id: 1 }, { id: 2, name: '\ud800' }]))
  t.match(log.at(-1), {
    err: { message: /^values 200: body at "\/1" cannot be written as CSV: text has a lone/ },
  })
})

t.test('items that are no rows are refused, as are rows in a request', async (t) => {
  const place = 'GET /values: the response 200 text/csv cannot be written as CSV:'
  const cases: readonly (readonly [itemSchema: object, reason: string])[] = [
    [{ type: 'string' }, `${place} the items must have type: object`],
    [{ type: 'object' }, `${place} the items declare no properties`],
    [
      { type: 'object', properties: { tags: { type: 'array' } } },
      `${place} the field tags may be an array or an object, which a column cannot hold`,
    ],
  ]
  for (const [schema, reason] of cases) {
    const contract = await contractWith(streamOf(schema), { openapi: '3.2.0' })
    t.strictSame(contract.operations.get('values')?.unsupported, [reason])
  }
  const utf16 = await contractWith(streamOf(flat, 'text/csv; charset=utf-16'), { openapi: '3.2.0' })
  t.match(utf16.operations.get('values')?.unsupported, [/it is sent in UTF-8$/])
  const requestBody = { content: { 'text/csv': { itemSchema: flat } } }
  const asked = await contractWith({ values: { requestBody, responses: done } }, { openapi: '3.2.0' })
  t.match(asked.operations.get('values')?.unsupported, [
    / is a stream of rows, which is not supported in a request/,
  ])
})

t.test('tools of older versions read an array of rows, with its columns by reference', async (t) => {
  const ref = { $ref: '#/components/schemas/Flat' }
  const contract = await contractWith(streamOf(ref), { openapi: '3.2.0', schemas: { Flat: flat } })
  const content = contract.operations.get('values')?.responses.get('200')?.contents[0]
  t.match(content, { kind: 'stream', framing: 'rows', columns: ['id', 'name'], schema: ref })
  const older = { type: 'array', items: ref }
  for (const form of ['yaml31', 'json30'] as const) {
    const { paths } = parseYaml(await contract.write(form, 'only'))
    t.strictSame(paths['/values'].get.responses['200'].content['text/csv'], { schema: older }, form)
  }
})

t.test('a stream of CSV has the types of its items', async (t) => {
  const operations = generateOperations(await contractWith(streamOf(exported), { openapi: '3.2.0' }))
  t.match(
    operations,
    /body: Items<Readable<operations\['values'\]\['responses'\]\[200\]\['content'\]\['text\/csv'\]>>/,
  )
  t.match(operations, /item: Readable</)
})

const toInstall = 'text/csv needs papaparse, which is not installed: npm install --save-prod papaparse@5'
const start = `
  import { writeFileSync } from 'node:fs'
  import { buildEngine, contractWith } from 'contract-testing/engine'
  import { runCommand } from './node_modules/contract-engine/dist/src/mock/command.js'
  const items = { type: 'object', properties: { id: { type: 'integer' } } }
  const array = { schema: { type: 'array', items } }
  const operation = (content) => ({ operationId: 'list', responses: { 200: { description: 'Toys.', content } } })
  const serve = async (content) => {
    const contract = await contractWith({ list: { method: 'get', ...operation(content) } })
    const app = await buildEngine(contract, () => async () => ({ status: 200 }))
    await app.close()
    return 'it serves'
  }
  const mock = async (content) => {
    const paths = { '/toys': { get: operation(content) } }
    writeFileSync('toys.json', JSON.stringify({ openapi: '3.1.0', info: { title: 'Toys', version: '1' }, paths }))
    const streams = { stdout: process.stdout, stderr: process.stdout, env: {} }
    return runCommand(['toys.json', '--port', '0'], streams, AbortSignal.abort())
  }
  const told = ({ name, message }) => [name, message].join(': ')`

// One process for all cases, because it takes a second to load.
const withoutPapaparse: [title: string, call: string, printed: string][] = [
  ['a list in CSV is told what to install', "serve({ 'text/csv': array })", `OperatorError: ${toInstall}`],
  ['so is a stream of rows', "serve({ 'text/csv': { itemSchema: items } })", `OperatorError: ${toInstall}`],
  ['so is who serves its mock', "mock({ 'text/csv': array })", `${toInstall}\n1`],
  ['a list in JSON is served', "serve({ 'application/json': array })", 'it serves'],
]
t.test('without papaparse', async (t) => {
  const calls = withoutPapaparse.map(([, call]) => `console.log(await ${call}.catch(told) + '\\n--')`)
  const printed = await runWithout(t, 'papaparse', `${start}\n${calls.join('\n')}`)
  const parts = printed.split(/\n--(?:\n|$)/)
  for (const [i, [title, , expected]] of withoutPapaparse.entries()) t.equal(parts[i], expected, title)
})
