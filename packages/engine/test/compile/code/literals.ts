import t from 'tap'
import { literalOf } from '../../../src/compile/code/literals.js'

const values: readonly unknown[] = [
  ...[null, true, undefined, 0, -0, 1.5, 1e300, Number.POSITIVE_INFINITY, 9007199254740993n, -1n],
  ...['', 'a"b\\c\n', '\u2028</script>', '\ud800'],
  ...[[], [1n, [null]], {}, { a: { 'b-c': [2] }, 1: 'one', constructor: 1 }],
  JSON.parse('{ "__proto__": { "a": 1 } }'),
]

for (const [i, value] of values.entries())
  t.strictSame(new Function(`return ${literalOf(value)}`)(), value, `value ${i} is read as it was written`)
t.ok(Object.is(new Function(`return ${literalOf(-0)}`)(), -0), 'a zero keeps its sign')
t.equal(Object.getPrototypeOf(new Function(`return ${literalOf(values.at(-1))}`)()), Object.prototype)
