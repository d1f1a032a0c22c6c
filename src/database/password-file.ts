// libpq's password file (PostgreSQL 18, section 32.16). Read again for each connection, so that a password
// can be rotated without a restart.

import { OperatorError } from '../lib/operator-error.js'
import { type FromFiles, readNamed } from './from-files.js'

/** What a line of the file must match. */
export interface PasswordFor {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
}

/** A password as postgres.js takes it: called when the server asks for it. */
export type FilePassword = (() => string) & FromFiles

/**
 * The password of the first line of a file that matches. The file is read now, to fail the startup, and
 * before each connection.
 * @param parameter the one that names the file, for errors
 * @param prepare makes of the password what is sent
 */
export function passwordFrom(
  file: string,
  parameter: string,
  login: PasswordFor,
  prepare: (password: string) => string,
): FilePassword {
  let password = ''
  const refresh = () => {
    const found = findPassword(readNamed(file, parameter), login)
    if (found === undefined)
      throw new OperatorError(`${parameter}: ${file} has no line for ${describe(login)}`)
    password = prepare(found)
  }
  refresh()
  return Object.assign(() => password, { refresh })
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
