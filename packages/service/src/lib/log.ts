// The log: pino's JSON lines on standard output, short coloured lines on a terminal. It never blocks or stops
// the service. Each iteration of the event loop writes once, and the service goes on when writing fails (a
// full disk, a stopped reader).

import { writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import { logBounds } from './log-bounds.js'

// Lines buffered while writing fails; further ones are dropped.
const bufferedBytesMax = 1_048_576

// Well below `bufferedBytesMax`, beyond which pino drops lines.
const writeBytesMax = 65_536
// Retries when the reader is behind, 100 ms each.
const retriesMax = 5

const prettify = process.stdout.isTTY
  ? (await import('pino-pretty')).prettyFactory({
      colorize: process.stdout.hasColors(),
      translateTime: 'SYS:HH:MM:ss.l',
      ignore: 'pid,hostname',
      singleLine: true,
    })
  : undefined

// One count for the process, which has one log.
let lost = 0

/** Returns the number of lines dropped because nobody took them. */
export function lostLines(): number {
  return lost
}

/** Creates the log of the process. Pending lines are written before the process exits. */
export function createLog(level: string): Logger {
  let isFailing = false
  let retries = 0
  const retryEAGAIN = () => !isFailing && retries++ < retriesMax
  const out = pino.destination({
    sync: true,
    maxLength: bufferedBytesMax,
    maxWrite: writeBytesMax,
    retryEAGAIN,
  })
  out.on('write', () => {
    isFailing = false
  })
  out.on('error', (error) => {
    if (!isFailing) reportFailure(error)
    isFailing = true
  })
  out.on('drop', (text: string) => {
    lost += text.split('\n').length - 1
    out.write('') // retries, which pino does not do by itself
  })
  let lines: string[] = []
  const flush = () => {
    if (lines.length === 0) return
    const texts = joinUpTo(writeBytesMax, lines)
    lines = []
    for (const text of texts) {
      retries = 0
      out.write(text)
    }
  }
  process.on('exit', flush)
  const write = (line: string) => {
    if (lines.push(prettify?.(line) ?? line) === 1) setImmediate(flush)
  }
  return pino({ level, ...logBounds }, { write })
}

/** Switches the log between its level and `debug` on SIGUSR2. */
export function toggleDebugOnSignal(log: Logger, normalLevel: string): void {
  process.on('SIGUSR2', () => {
    const level = log.level === normalLevel ? 'debug' : normalLevel
    log.level = 'debug' // a level above info would hide the next line
    log.info({ to: level }, 'log level changed')
    log.level = level
  })
}

// Joins lines to texts of at most `bytesMax`. A longer line is a text of its own.
function joinUpTo(bytesMax: number, lines: readonly string[]): string[] {
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

function reportFailure({ message }: Error): void {
  try {
    writeSync(process.stderr.fd, `cannot write the log: ${message}\n`)
  } catch {} // stderr may be on the same disk
}
