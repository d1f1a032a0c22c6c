import t, { type Test } from 'tap'
import { createProgress } from '../../../../src/commands/seed/progress.js'
import { stopClocks } from '../../../fixtures/clocks.js'

// Returns the output for 1,000 animals, 25 at a time, one per millisecond.
function written(t: Test, isTTY: boolean): string[] {
  const chunks: string[] = []
  const { advance } = stopClocks(t)
  const stream = { isTTY, write: (text: string) => chunks.push(text) > 0 }
  const progress = createProgress(1_000, stream as never)
  for (let done = 25; done <= 1_000; done += 25) {
    advance(25)
    progress.show(done)
  }
  progress.end()
  return chunks
}

t.test('on a terminal a bar is redrawn at most ten times a second, and erased at the end', async (t) => {
  const chunks = written(t, true)
  t.equal(chunks.length, 11 + 1)
  t.equal(chunks[4], `\r\x1b[K${'█'.repeat(12)}${'░'.repeat(18)}  42 %  425 animals, 1,000 a second`)
  t.match(chunks.at(-2), /█{30} {2}100 % {2}1,000 animals/)
  t.equal(chunks.at(-1), '\r\x1b[K')
})

t.test('elsewhere a line is printed for each tenth', async (t) => {
  const chunks = written(t, false)
  t.equal(chunks.length, 10)
  t.equal(chunks[0], '10 %  100 animals, 1,000 a second\n')
  t.equal(chunks.at(-1), '100 %  1,000 animals, 1,000 a second\n')
})
