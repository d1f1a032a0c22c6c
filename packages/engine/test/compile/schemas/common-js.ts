import t from 'tap'
import { defaultOf } from '../../../src/compile/schemas/common-js.js'

t.test('a module in CommonJS has its default export, whether Node or Bun imports it', async (t) => {
  const keyword = { keyword: 'contains' }
  t.equal(defaultOf({ default: keyword }), keyword)
  t.equal(defaultOf(keyword as unknown as { default: typeof keyword }), keyword)
})
