import t from 'tap'
import { parseJson } from '../../src/runtime/json.js'

const parse = (text: string) => parseJson(Buffer.from(text))

const numbers: [text: string, value: number | bigint][] = [
  ['0', 0],
  ['-0', -0],
  ['9007199254740991', 9007199254740991],
  ['9007199254740992', 9007199254740992n],
  ['9007199254740993', 9007199254740993n],
  ['-9007199254740993', -9007199254740993n],
  ['9223372036854775807', 9223372036854775807n],
  ['-9223372036854775808', -9223372036854775808n],
  ['9223372036854775808', 9223372036854775808n],
  ['1.0', 1],
  ['1e3', 1000],
  ['1E+3', 1000],
  ['1.2e3', 1200],
  ['1200e-2', 12],
  ['-1.50e1', -15],
  ['9223372036854775.807e3', 9223372036854775807n],
  ['92233720368547758070e-1', 9223372036854775807n],
  ['0e999999999', 0],
  ['0.000e-999999999', 0],
  ['1.5', 1.5],
  ['-1.25e-2', -0.0125],
  ['5.0', 5],
  ['1e1', 10],
  ['1.10', 1.1],
  ['0.5e+1', 5],
  ['0.00500', 0.005],
  ['0.30000000000000004', 0.30000000000000004],
  ['12345678901234.566', 12345678901234.566],
  ['1.7976931348623157E+308', 17976931348623157n * 10n ** 292n],
  ['5e-324', Number.MIN_VALUE],
]

for (const [text, value] of numbers) {
  t.test(`the number ${text} is read exactly`, async (t) => {
    t.ok(Object.is(parse(text), value), String(parse(text)))
    t.strictSame(parse(`{"a":[${text}]}`), { a: [value] })
    t.strictSame(parse(` {"a":[${text}]}`), { a: [value] }, 'also where no native parser is asked')
  })
}

for (const text of [
  '4.0000000000000000001',
  '-4.0000000000000000001',
  '1e-400',
  '12345678901234.567',
  '-1234567890123456.78',
  '0.1234567890123456789',
  '12345678901234567.8e-3',
  '9007199254740993.1',
  '1e400',
  '-1e999999999',
]) {
  t.test(`the number ${text} is refused rather than rounded`, async (t) => {
    t.throws(() => parse(text), { code: 'invalid_json', message: text })
  })
}

t.test('a number of a thousand digits costs a message of a hundred characters', async (t) => {
  t.throws(() => parse(`${'9'.repeat(1000)}`), { code: 'invalid_json', message: /^.{1,150}$/ })
})

t.test('a huge exponent is refused without expanding its digits', async (t) => {
  const began = process.cpuUsage()
  const zeros = Array.from({ length: 5000 }, () => '0e999999999')
  t.strictSame(
    parse(`[${zeros.join()}]`),
    zeros.map(() => 0),
  )
  t.throws(() => parse('1e-999999999'), { code: 'invalid_json' })
  t.ok(process.cpuUsage(began).user < 3_000_000, 'in less than three seconds of work')
})

const duplicates: [title: string, text: string, name: string][] = [
  ['at the top', '{"a":1,"a":2}', 'a'],
  ['with one value', '{"a":1,"a":1}', 'a'],
  ['before a colon that stands apart', '{"a":"x","a" \n:"x"}', 'a'],
  ['after a value that looks like one', '{"b":"\\"b\\":1,{","b":1}', 'b'],
  ['inside', '{"x":[{"b":1,"c":0,"b":2}]}', 'b'],
  ['written with an escape', '{"a":1,"\\u0061":2}', 'a'],
  ['called __proto__', '{"__proto__":1,"__proto__":2}', '__proto__'],
  ['called as a method of every object', '{"toString":1,"toString":2}', 'toString'],
]

for (const [title, text, name] of duplicates) {
  t.test(`a duplicate name is refused: ${title}`, async (t) => {
    const message = `The body has the name "${name}" twice in one object.`
    t.throws(() => parse(text), { code: 'invalid_json', message })
  })
}

t.test('a long duplicate name is cut in the message', async (t) => {
  const name = 'n'.repeat(10_000)
  t.throws(() => parse(`{"${name}":1,"${name}":2}`), { code: 'invalid_json', message: /^.{1,150}$/ })
})

t.test('one name in two objects is not a duplicate', async (t) => {
  t.strictSame(parse('[{"a":1},{"a":2,"b":{"a":3}}]'), [{ a: 1 }, { a: 2, b: { a: 3 } }])
})

t.test('__proto__ is an ordinary property and does not set the prototype', async (t) => {
  const value = parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}') as object
  t.strictSame(Object.keys(value), ['__proto__', 'constructor'])
  t.equal(Object.getPrototypeOf(value), Object.prototype)
  t.notOk('polluted' in {})
  t.notOk('polluted' in value)
})

const bytes: [title: string, bytes: number[]][] = [
  ['a stray continuation byte', [0x22, 0x80, 0x22]],
  ['a character broken off', [0x22, 0xe2, 0x82, 0x22]],
  ['a text broken off in a character', [0x22, 0xe2, 0x82]],
  ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
  ['a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ['Latin-1', [0x22, 0xe9, 0x22]],
  ['UTF-16', [0xff, 0xfe, 0x31, 0x00]],
]

for (const [title, broken] of bytes) {
  t.test(`${title} is not UTF-8, and leaves nothing behind for the next body`, async (t) => {
    const error = { code: 'invalid_json', message: 'The body is not valid UTF-8.' }
    t.throws(() => parseJson(Uint8Array.from(broken)), error)
    t.equal(parse('"é"'), 'é')
  })
}

t.test('a leading byte order mark is ignored, and one in a string is kept', async (t) => {
  t.strictSame(parse('\ufeff{"a":"\ufeff"}'), { a: '\ufeff' })
  t.throws(() => parse('\ufeff\ufeff1'), { code: 'invalid_json' })
})

const unfit: [title: string, text: string, what: string, position: number][] = [
  ['a NUL', '"\\u0000"', 'NUL, \\u0000', 1],
  ['a NUL among others', '{"a":"\\u0001\\u0000"}', 'NUL, \\u0000', 12],
  ['a NUL in a name', '{"a":1,"b\\u0000":2}', 'NUL, \\u0000', 9],
  ['a NUL where a number is exact', '[9007199254740993,"\\u0000"]', 'NUL, \\u0000', 19],
  ['a NUL after a backslash', '"\\\\\\u0000"', 'NUL, \\u0000', 3],
  ['the first half of a pair', '"\\ud83d"', 'a lone surrogate, \\ud83d', 1],
  ['the first half in upper case', '"\\uD83D"', 'a lone surrogate, \\uD83D', 1],
  ['the first half before a letter', '"\\ud83dx\\ude00"', 'a lone surrogate, \\ud83d', 1],
  ['the first half before another escape', '"\\ud83d\\u0041"', 'a lone surrogate, \\ud83d', 1],
  ['the first half twice', '"\\ud83d\\ud83d\\ude00"', 'a lone surrogate, \\ud83d', 1],
  ['the second half', '"\\ude00"', 'a lone surrogate, \\ude00', 1],
  ['the second half after a pair', '"\\ud83d\\ude00\\ude00"', 'a lone surrogate, \\ude00', 13],
  ['a pair the wrong way round', '"\\ude00\\ud83d"', 'a lone surrogate, \\ude00', 1],
  ['a pair in two texts', '["\\ud83d","\\ude00"]', 'a lone surrogate, \\ud83d', 2],
  ['half a pair in a name', '{"\\udfff":1}', 'a lone surrogate, \\udfff', 2],
]

for (const [title, text, what, position] of unfit) {
  t.test(`a forbidden character is refused with its position: ${title}`, async (t) => {
    const message = `The body contains ${what}, at position ${position}.`
    t.throws(() => parse(text), { code: 'invalid_json', message })
  })
}

t.test('other characters may be escaped, and a backslash may stand before what looks like one', async (t) => {
  t.equal(parse('"\\ud83d\\ude00"'), '😀')
  t.equal(parse('"\\uD83D\\uDE00\\u00e9\\u0001"'), '😀é\u0001')
  t.equal(parse('"\\uffff\\ue000\\ud7ff"'), '\uffff\ue000\ud7ff')
  t.equal(parse('"\\\\u0000\\\\ud83d"'), '\\u0000\\ud83d')
  t.equal(parse('" \\\\\\\\u0000"'), ' \\\\u0000')
})

for (const [title, text] of [
  ['arrays', '['.repeat(100_000)],
  ['objects', '{"a":'.repeat(100_000)],
  ['closed arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
] as const) {
  t.test(`${title} nested 100,000 deep are refused`, async (t) => {
    const error = { code: 'invalid_json', message: 'The body is nested too deeply.' }
    t.throws(() => parse(text), error)
  })
}

t.test('a body may be nested 100 deep, not counting brackets in strings', async (t) => {
  const nested = (depth: number) => `${'[{"a":'.repeat(depth / 2)}"[[{{\\"[["${'}]'.repeat(depth / 2)}`
  t.ok(parse(nested(100)))
  t.throws(() => parse(nested(102)), { code: 'invalid_json', message: 'The body is nested too deeply.' })
  t.match(parse(`[${'[],'.repeat(5_000)}1]`), { length: 5_001 }, 'and as wide as it likes')
})

t.test('a wide or a long body costs little', async (t) => {
  const began = process.cpuUsage()
  const names = Array.from({ length: 7_000 }, (_, i) => `"${i}":1`)
  t.equal(Object.keys(parse(`{${names}}`) as object).length, 7_000)
  t.throws(() => parse(`"${'\\'.repeat(65_000)}`), { code: 'invalid_json' })
  for (const quotes of ['"', '"\\', '"" ', '\\"', '"a"  ']) {
    t.throws(() => parse(`[${quotes.repeat(20_000)}`), { code: 'invalid_json' })
  }
  t.equal(parse(JSON.stringify('"\\'.repeat(16_000))), '"\\'.repeat(16_000))
  t.equal(parse(`"${'\\\\'.repeat(32_000)}\\u0041"`), `${'\\'.repeat(32_000)}A`)
  t.equal(parse(`"${'\\u0041'.repeat(10_000)}"`), 'A'.repeat(10_000))
  t.ok(process.cpuUsage(began).user < 3_000_000, 'less than three seconds of work')
})

t.test('a truncated text is refused', async (t) => {
  const text = '{"a":[1.5e1,"\\u00e9\\n",true,null,{"b":false}]}'
  t.strictSame(parse(text), { a: [15, 'é\n', true, null, { b: false }] })
  for (let length = 0; length < text.length; length++) {
    t.throws(() => parse(text.slice(0, length)), { code: 'invalid_json' }, `after ${length} characters`)
  }
})

const notJson = [
  '',
  ' ',
  '01',
  '-',
  '+1',
  '.5',
  '1.',
  '1e',
  '0x10',
  'NaN',
  'Infinity',
  'undefined',
  'True',
  'nul',
  '[1,]',
  '[,1]',
  '[1 2]',
  '[1}',
  '{"a":1,}',
  '{a:1}',
  "{'a':1}",
  '{"a"}',
  '{"a":}',
  '{"a" 1}',
  '{1:1}',
  '"\t"',
  '"\u0000"',
  '"\\x41"',
  '"\\u12"',
  '"a',
  '1 2',
  '{} {}',
  '1;',
  '/**/1',
  '1//',
  '\u00a01',
  '\u20281',
]

t.test('invalid JSON is refused, as by JSON.parse', async (t) => {
  for (const text of notJson) {
    t.throws(() => JSON.parse(text), SyntaxError)
    t.throws(() => parse(text), { code: 'invalid_json' }, encodeURI(text))
  }
})

const json = [
  '""',
  ' [ ] ',
  '\t{\r\n}',
  '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
  '"\u007f\u2028"',
  '[[],{},"",0,-1.5e-1,true,false,null]',
  '{"":{"":""}}',
]

t.test('valid JSON is parsed as by JSON.parse', async (t) => {
  for (const text of json) t.strictSame(parse(text), JSON.parse(text))
})
