import t from 'tap'
import { paintFor, table } from '../../src/lib/terminal.js'

const terminal = { isTTY: true, hasColors: () => true }
const plain = paintFor({ isTTY: false, hasColors: () => true })

t.test('only terminals with colour support get colours', async (t) => {
  t.equal(paintFor(terminal)('red', 'x'), '\x1b[31mx\x1b[39m')
  t.equal(plain('red', 'x'), 'x', 'not a pipe')
  t.equal(paintFor({ ...terminal, hasColors: () => false })('red', 'x'), 'x', 'not without colour support')
})

t.test('columns line up, with colours or without', async (t) => {
  const rows = [
    ['1', 'a', { text: 'valid', style: 'green' }],
    ['1000', 'long name', { text: 'revoked', style: 'dim' }],
  ] as const
  const expected = 'ID    NAME       STATE\n1     a          valid\n1000  long name  revoked\n'
  t.equal(table(['ID', 'NAME', 'STATE'], rows, plain), expected)
  const coloured = table(['ID', 'NAME', 'STATE'], rows, paintFor(terminal))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI escape codes
  t.equal(coloured.replace(/\x1b\[\d+m/g, ''), expected)
  t.match(coloured, '\x1b[32mvalid\x1b[39m')
})

t.test('a table fits the terminal: its widest columns are truncated', async (t) => {
  const rows = [['1', 'a name that is long', 'a plan that is longer'] as const]
  const at = (width: number) => table(['ID', 'NAME', 'PLAN'], rows, plain, width).split('\n')[1]
  t.equal(at(46), '1   a name that is long  a plan that is longer')
  t.equal(at(45), '1   a name that is long  a plan that is long…')
  t.equal(at(30), '1   a name that…  a plan that…')
  t.equal(at(10), '1   a name …  a plan …', 'but to no less than eight characters')
})
