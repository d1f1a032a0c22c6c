// libpq's password file (PostgreSQL 18, section 32.16). Read again for each connection, so that a password
// can be rotated without a restart.

import { type FromFiles, readNamed } from './from-files.js'
import { isLoginRefused } from './unavailable.js'

/** What a line of the file must match. */
export interface PasswordFor {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
}

/** A password as postgres.js takes it: called when the server asks for it. */
export type FilePassword = (() => string) &
  FromFiles & {
    /** Adds to the error of a connection that the file has no password, if the server asked for one. */
    explain(error: Error): void
  }

/**
 * The password of the first line of a file that matches, read before each connection. Without one it is
 * empty, as in libpq: whether the server asks for it is not known yet.
 * @param parameter the one that names the file, for errors
 * @param prepare makes of the password what is sent
 */
export function passwordFrom(
  file: string,
  parameter: string,
  login: PasswordFor,
  prepare: (password: string) => string,
): FilePassword {
  let found: FoundPassword = { password: '' }
  let isAsked = false
  const refresh = () => {
    isAsked = false
    found = read(file, parameter, login)
  }
  const password = () => {
    isAsked = true
    return prepare(found.password)
  }
  const explain = (error: Error) => {
    if (isAsked && found.problem !== undefined && isLoginRefused(error))
      error.message += ` (${found.problem})`
  }
  return Object.assign(password, { refresh, explain })
}

interface FoundPassword {
  readonly password: string
  readonly problem?: string
}

function read(file: string, parameter: string, login: PasswordFor): FoundPassword {
  try {
    const password = findPassword(readNamed(file, parameter), login)
    const problem = `${parameter}: ${file} has no line for ${describe(login)}`
    return password === undefined ? { password: '', problem } : { password }
  } catch (error) {
    return { password: '', problem: (error as Error).message }
  }
}

function describe({ host, port, database, user }: PasswordFor): string {
  return [host, port, database, user].join(':')
}

// In a field, a backslash precedes a colon or a backslash.
const field = String.raw`((?:\\.|[^:\\])*)`
const line = new RegExp(`^(?!#)${`${field}:`.repeat(4)}${field}`)

function findPassword(text: string, { host, port, database, user }: PasswordFor): string | undefined {
  const wanted = [host, String(port), database, user]
  for (const each of text.split(/\r?\n/)) {
    const fields = line.exec(each)?.slice(1) ?? []
    const values = fields.map((field) => field.replace(/\\(.)/g, '$1'))
    if (values.length > 0 && wanted.every((value, i) => fields[i] === '*' || isMeant(values[i], value)))
      return values[4]
  }
  return undefined
}

// A unix socket's directory is `localhost`, too.
function isMeant(given: string | undefined, wanted: string): boolean {
  return given === wanted || (given === 'localhost' && wanted.startsWith('/'))
}
