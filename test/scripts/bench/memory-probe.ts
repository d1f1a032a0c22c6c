import t from 'tap'
import { cycle, randomReadNs } from '../../../scripts/bench/memory-probe.js'

t.test('the reads go through each line once before they come back', async (t) => {
  for (const lines of [16, 1_024, 2 ** 17]) {
    const links = cycle(lines)
    const visited = new Set<number>()
    for (let index = 0; !visited.has(index); index = links[index] ?? -1) visited.add(index)
    t.equal(visited.size, lines)
    t.ok([...visited].every((index) => index >= 0 && index % 16 === 0))
  }
})

t.test('a read takes time', async (t) => {
  t.ok(randomReadNs(1) > 0)
})
