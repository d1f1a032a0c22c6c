// The log: pino's JSON lines on standard output, for a person at a terminal short ones in colour. It neither holds up nor stops what
// it tells of: the lines of one iteration of the event loop are one write, and where they cannot be written, on a full disk or to a reader
// that has stopped, the service goes on without them.

import { writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'

// Of lines that could not be written, until they can be.
const keptBytesMax = 1_048_576

// What a pipe takes whole, whoever else writes to it: PIPE_BUF of Linux.
const wholeBytesMax = 4_096
// Well below what is kept: more at once would be left out.
const writtenBytesMax = 65_536
// For a reader that is behind, of 100 ms each.
const waitsMax = 5

const forPeople = process.stdout.isTTY
  ? (await import('pino-pretty')).prettyFactory({
      colorize: process.stdout.hasColors(),
      translateTime: 'SYS:HH:MM:ss.l',
      ignore: 'pid,hostname',
      singleLine: true,
    })
  : undefined

/**
 * Makes the log of the process. What it was told is written before the process exits.
 * @param isShared whether other processes write to the same place, so that no line may be cut by theirs
 */
export function createLog(level: string, isShared = false): Logger {
  let isFailing = false
  let waits = 0
  const retryEAGAIN = () => !isFailing && waits++ < waitsMax
  const bytesMax = isShared ? wholeBytesMax : writtenBytesMax
  const out = pino.destination({ sync: true, maxLength: keptBytesMax, maxWrite: bytesMax, retryEAGAIN })
  out.on('write', () => {
    isFailing = false
  })
  out.on('error', (error) => {
    if (!isFailing) tell(`The log cannot be written: ${error.message}\n`)
    isFailing = true
  })
  out.on('drop', () => out.write('')) // or it would never try again
  let lines: string[] = []
  const flush = () => {
    if (lines.length === 0) return
    const texts = groups(lines, bytesMax)
    lines = []
    for (const text of texts) {
      waits = 0
      out.write(text)
    }
  }
  process.on('exit', flush)
  const write = (line: string) => {
    if (lines.push(forPeople?.(line) ?? line) === 1) setImmediate(flush)
  }
  return pino({ level }, { write })
}

// As many lines together as have so many bytes.
function groups(lines: readonly string[], bytesMax: number): string[] {
  const texts: string[] = []
  let text = ''
  let bytes = 0
  for (const line of lines) {
    const length = Buffer.byteLength(line)
    if (text !== '' && bytes + length > bytesMax) {
      texts.push(text)
      text = ''
      bytes = 0
    }
    text += line
    bytes += length
  }
  return [...texts, text]
}

// It may be the same disk.
function tell(text: string): void {
  try {
    writeSync(process.stderr.fd, text)
  } catch {}
}
