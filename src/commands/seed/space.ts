// The disk space that sample animals take.

// Measured: the rows and both indexes take 190 bytes an animal, and the write-ahead log 240 more until it
// is recycled, which with PostgreSQL's defaults is soon after 1 GB.
const storedBytes = 200
const logBytes = 250
const logBytesMax = 2e9
// So that the service can go on.
const reserveBytes = 100e6

/** Says that so many bytes are not enough for so many animals; undefined if they are. */
export function lackOfSpace(count: number, freeBytes: number): string | undefined {
  const needed = count * storedBytes + Math.min(count * logBytes, logBytesMax) + reserveBytes
  if (freeBytes >= needed) return undefined
  const gigabytes = (bytes: number) => (bytes / 1e9).toFixed(1)
  const animals = `${count.toLocaleString('en')} animals`
  return `The disk has ${gigabytes(freeBytes)} GB free, and ${animals} need about ${gigabytes(needed)} GB`
}
