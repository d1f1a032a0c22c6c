// Measures memory latency: the time of a read whose address the previous read has returned. Requests walk
// objects in the same way, so this latency affects the ratios between subjects.

const bytesPerLine = 64
const linksPerLine = bytesPerLine / Int32Array.BYTES_PER_ELEMENT
const reads = 2 ** 19
const rounds = 6

/** The sizes within which the bench reads: one that fits the processor's caches, and one that does not. */
export const probedMegabytes: readonly number[] = [8, 512]

/**
 * Returns the time of one random read within so many MB (a power of two), in nanoseconds: the best of some
 * rounds.
 */
export function randomReadNs(megabytes: number): number {
  const links = cycle((megabytes * 2 ** 20) / bytesPerLine)
  let index = 0
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    const began = process.cpuUsage() // not the clock: others may use the machine
    for (let read = 0; read < reads; read++) index = links[index] ?? 0
    const { user, system } = process.cpuUsage(began)
    best = Math.min(best, ((user + system) / reads) * 1_000)
  }
  return best + index * 0 // uses the index, so that V8 cannot drop the reads
}

/**
 * Returns one cycle through all lines in random order: each line has the index of the next. `lines` must be a
 * power of two, so that this linear congruence has its full period (Hull and Dobell).
 */
export function cycle(lines: number): Int32Array {
  const links = new Int32Array(lines * linksPerLine)
  for (let line = 0; line < lines; line++) {
    const next = (Math.imul(line, 1_664_525) + 1_013_904_223) & (lines - 1)
    links[line * linksPerLine] = next * linksPerLine
  }
  return links
}
