// A line of pino's (10.4.0) whose fields are JSON already: of a line that is the same for each request but
// for a few values, pino looks at each field's type, serializer and form, which takes 2 % of the time of a
// get. It begins and ends with what pino keeps by its symbols, so that it is as pino would have written it,
// and is written where pino writes.

import type { FastifyBaseLogger } from 'fastify'
import { type Logger, pino } from 'pino'

const level = 30

// By their names in `pino.symbols`; its types have neither these symbols nor what is kept by them.
interface Kept {
  readonly lsCacheSym: Readonly<Record<number, string>>
  readonly timeSym: () => string
  readonly chindingsSym: string
  readonly endSym: string
  readonly streamSym: { write(line: string): void }
}

const symbols = pino.symbols as unknown as Readonly<Record<keyof Kept, symbol>>

function kept<Name extends keyof Kept>(log: FastifyBaseLogger, name: Name): Kept[Name] {
  return (log as unknown as Record<symbol, Kept[Name]>)[symbols[name]] as Kept[Name]
}

/** Whether lines of the level info are logged. */
export function isInfoLogged(log: FastifyBaseLogger): boolean {
  return (log as Partial<Logger>).isLevelEnabled?.('info') !== false
}

/** Whether they are, and by pino. */
export function canWriteInfo(log: FastifyBaseLogger): boolean {
  return kept(log, 'streamSym') !== undefined && isInfoLogged(log)
}

/** Writes a line of the level info. Its fields are JSON, each behind a comma. */
export function writeInfo(log: FastifyBaseLogger, fields: string, message: string): void {
  const start = kept(log, 'lsCacheSym')[level] + kept(log, 'timeSym')() + kept(log, 'chindingsSym')
  kept(log, 'streamSym').write(`${start}${fields},"msg":"${message}"${kept(log, 'endSym')}`)
}

// As pino and JSON write it, without an escape.
const plain = /^[ !#-[\]-~]{0,100}$/

/** Whether a text is the same in JSON but for its quotes. */
export function isPlain(text: string): boolean {
  return plain.test(text)
}
