import { stopClocks } from 'contract-testing/clocks'
import t, { type Test } from 'tap'
import { Progress } from '../../../src/commands/seed/progress.js'

// Returns the output for 1,000 animals, 25 at a time, one per millisecond.
function written(t: Test, isTTY: boolean): string[] {
  const texts: string[] = []
  const { advance } = stopClocks(t)
  const progress = new Progress(1_000, { isTTY, write: (text: string) => texts.push(text) > 0 } as never)
  for (let done = 25; done <= 1_000; done += 25) {
    advance(25)
    progress.show(done)
  }
  progress.end()
  return texts
}

t.test('on a terminal a bar is redrawn, and erased at the end', async (t) => {
  const texts = written(t, true)
  t.equal(texts.length, 40 + 1)
  t.equal(texts[16], `\r\x1b[K${'█'.repeat(12)}${'░'.repeat(18)}  42 %  425 animals, 1,000 a second`)
  t.match(texts.at(-2), /█{30} {2}100 % {2}1,000 animals/)
  t.equal(texts.at(-1), '\r\x1b[K')
})

t.test('elsewhere a line is printed for each tenth', async (t) => {
  const texts = written(t, false)
  t.equal(texts.length, 10)
  t.equal(texts[0], '10 %  100 animals, 1,000 a second\n')
  t.equal(texts.at(-1), '100 %  1,000 animals, 1,000 a second\n')
})
