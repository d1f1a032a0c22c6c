// Reads libpq's password file (PostgreSQL 18, section 32.16), again for each connection, so that operators
// can rotate a password without a restart.

import { type FromFiles, readNamed } from './from-files.js'
import { isLoginRefused } from './unavailable.js'

/** The connection that a line of the file must match. */
export interface PasswordFor {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
}

/**
 * A password in the form that postgres.js takes: it calls the function when the server asks for a password.
 */
export type FilePassword = (() => string) &
  FromFiles & {
    /** If the server asked for a password and the file has none, adds this to the error of the connection. */
    explain(error: Error): void
  }

/**
 * Returns the password of the first matching line, read before each connection. It is empty if no line
 * matches, as in libpq, because the server may not ask for one.
 * @param parameter the parameter that names the file, for errors
 * @param prepare converts the password to the form that is sent
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

// Within a field, a backslash escapes a colon or a backslash.
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

// In the file, `localhost` also stands for a unix socket's directory.
function isMeant(given: string | undefined, wanted: string): boolean {
  return given === wanted || (given === 'localhost' && wanted.startsWith('/'))
}
