// What the memory of the machine is like: how long a read takes whose address is known only when the one
// before it has come. Requests walk objects in the same way, so the ratios of two machines differ by it.

const bytesPerLine = 64
const linksPerLine = bytesPerLine / Int32Array.BYTES_PER_ELEMENT
const reads = 2 ** 19
const rounds = 6

/** What the bench reads within: what the processor's caches hold, and what they do not. */
export const probedMegabytes: readonly number[] = [8, 512]

/**
 * The time of one random read within so many MB (a power of two), in nanoseconds: the best of some rounds.
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
  return best + index * 0 // V8 must not leave out the reads
}

/**
 * One cycle through all lines in no order, each with the index of the next. `lines` is a power of two: then
 * this linear congruence has its full period (Hull and Dobell).
 */
export function cycle(lines: number): Int32Array {
  const links = new Int32Array(lines * linksPerLine)
  for (let line = 0; line < lines; line++) {
    const next = (Math.imul(line, 1_664_525) + 1_013_904_223) & (lines - 1)
    links[line * linksPerLine] = next * linksPerLine
  }
  return links
}
