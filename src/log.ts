// The log: pino's JSON lines on standard output. It neither holds up nor stops what it tells of: the lines of one iteration of the
// event loop are one write, and where they cannot be written, on a full disk, the service goes on without them.

import { writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'

// Of lines that could not be written, until they can be.
const keptBytesMax = 1_048_576

/** Makes the log of the process. What it was told is written before the process exits. */
export function createLog(level: string): Logger {
  const out = pino.destination({ sync: true, maxLength: keptBytesMax })
  let isFailing = false
  out.on('write', () => {
    isFailing = false
  })
  out.on('error', (error) => {
    if (!isFailing) tell(`The log cannot be written: ${error.message}\n`)
    isFailing = true
  })
  let lines: string[] = []
  const flush = () => {
    if (lines.length === 0) return
    const text = lines.join('')
    lines = []
    out.write(text)
  }
  process.on('exit', flush)
  const write = (line: string) => {
    if (lines.push(line) === 1) setImmediate(flush)
  }
  return pino({ level }, { write })
}

// It may be the same disk.
function tell(text: string): void {
  try {
    writeSync(process.stderr.fd, text)
  } catch {}
}
