import t from 'tap'
import { lackOfSpace } from '../../../../src/commands/seed/space.js'

t.test('the space that animals need is that of their rows, and of a log that is recycled', async (t) => {
  t.equal(lackOfSpace(1, 200e6), undefined)
  t.equal(lackOfSpace(1_000_000, 600e6), undefined)
  t.equal(lackOfSpace(1_000_000, 500e6), 'The disk has 0.5 GB free, and 1,000,000 animals need about 0.6 GB')
  t.equal(lackOfSpace(100_000_000, 23e9), undefined)
  t.match(lackOfSpace(100_000_000, 21e9), /21\.0 GB free, and 100,000,000 animals need about 22\.1 GB$/)
})
