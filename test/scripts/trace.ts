import { runProgram } from 'contract-service/fixtures/process'
import t from 'tap'
import { changesMax, type Entry, excessOf, figuresOf, toInsert } from '../../scripts/trace/figures.js'

t.test('a request changes from one module to another no more often than before', async (t) => {
  const { code, stdout, stderr } = await runProgram('scripts/trace/main.ts', [], {})
  t.equal(stderr, '')
  t.equal(code, 0)
  t.strictSame(stdout.match(/^\w+(?=: \d+ functions)/gm), Object.keys(changesMax))
  t.equal(stdout.match(/; from the route handler to its INSERT \d+ functions/g)?.length, 2)
})

const entry = (text: string): Entry => {
  const [module = '', name = ''] = text.split(' ')
  return { module, name }
}
const creation = [
  ...['http/lifetime Lifetime', 'engine/serve/route-handler run', 'middleware/writes run'],
  ...['database/table/rows writeRow', 'database/driver/sql unsafe', 'database/driver/connection send'],
  'database/driver/connection corked',
].map(entry)

t.test('the way of a creation to its INSERT ends where that is sent', async (t) => {
  t.strictSame(figuresOf(creation), { functions: 7, changes: 5, modules: 6 })
  t.strictSame(figuresOf(toInsert(creation)), { functions: 5, changes: 4, modules: 5 })
  t.strictSame(toInsert(creation.slice(0, 3)), [], 'of a request that inserts nothing')
})

t.test('a request that needs more than it may is told with what to do', async (t) => {
  const { whole, toInsert: before } = changesMax.create
  const many = Array.from({ length: whole }, (_, i) => entry(`m${i} f`))
  t.strictSame(excessOf('create', many), [])
  t.match(excessOf('create', [...creation.slice(0, 3), ...many, ...creation.slice(3)]), [
    new RegExp(`^create, whole: ${whole + 5} changes of module, ${whole} at most\\. .*figures\\.ts\\.$`),
    new RegExp(`^create, toInsert: ${whole + 4} changes of module, ${before} at most\\.`),
  ])
})
