import t from 'tap'
import { placeOf, statementsOf } from '../../src/database/sql-statements.js'

const texts = (file: string) => statementsOf(file).map(({ text }) => text)

// Each is one statement: a semicolon in it only looks like its end.
const single: Record<string, string> = {
  'a string': "select ';', 'it''s;'",
  'a string with escapes': String.raw`select e'\';', E'a''\\', ';'`,
  'a string of lines': "select 'a;\n;b'",
  'a quoted name': 'select 1 as ";"";"',
  'a dollar-quoted string': 'do $$ begin perform 1; end; $$',
  'a tagged one, which contains others': 'do $do_1$ select $$;$$; $d$;$d$ $do_1$',
  'a name that contains dollars': 'select a$b$ from c$d$',
  'a parameter': 'prepare a as select $1',
  'a comment to the end of the line': "select 1 -- it's; one\n + 1",
  'a comment that contains another': "select /* ; /* ' */ ; */ 1",
  'an operator of slashes and stars': 'select 6 / 2 * 3, 6/-1',
  'the statements of a rule': 'create rule a as on insert to b do also (delete from c; delete from d)',
  'the body of a function': `create function f() returns int begin atomic select 1; select case when true
    then 1 end; end`,
}

for (const [title, statement] of Object.entries(single))
  t.test(`a semicolon ends no statement within ${title}`, async (t) => {
    t.strictSame(texts(statement), [statement])
    if (!statement.includes('atomic'))
      t.strictSame(texts(`select 0;\n${statement} ;select 2;`), ['select 0', `${statement} `, 'select 2'])
  })

t.test('what is no statement is left out', async (t) => {
  for (const file of ['', ';', '-- nothing', '/* nothing', ' ;; /* a */ ; -- b\n'])
    t.strictSame(texts(file), [])
  t.strictSame(texts('-- why\n\n  select 1; -- done\n'), ['select 1'])
})

t.test('an end that is missing is left to PostgreSQL', async (t) => {
  for (const file of ["select 'a", 'select "a', 'do $$ a', 'select 1 /* a', 'select (1'])
    t.strictSame(texts(file), [file])
})

t.test('the code of a statement has blanks for comments', async (t) => {
  const [statement] = statementsOf("-- a\ncreate/* b */index -- c\n  concurrently '--'")
  t.match(statement?.code, /^create index {3,}concurrently '--'$/)
  t.equal(statement?.start, 5)
})

t.test('a place counts code points', async (t) => {
  const file = 'a\r\n\n🐈🐈x'
  t.strictSame(placeOf(file, 0), { line: 1, column: 1 })
  t.strictSame(placeOf(file, file.indexOf('x')), { line: 3, column: 3 })
})

t.test('a large file is split in time that is linear in its size', async (t) => {
  const timeOf = (count: number) => {
    const file = `insert into a values ('x', 1, /* 1 */ $$y$$);\n`.repeat(count)
    const start = process.cpuUsage()
    t.equal(statementsOf(file).length, count)
    return process.cpuUsage(start).user
  }
  timeOf(2_000)
  const [small, large] = [timeOf(5_000), timeOf(50_000)]
  t.ok(large < 40 * small, `${large} µs for ten times as much as in ${small} µs`)
})
