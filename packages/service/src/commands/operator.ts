// The operator who runs a command, for the record of its changes.

import os from 'node:os'
import { checkName } from './command.js'

/**
 * Returns the operator that `--by` names, by default the user of the operating system.
 * @throws {UsageError} when the name is empty, too long or not printable
 */
export function readOperator(
  by: string | undefined,
  userInfo: () => { username: string } = os.userInfo,
): string {
  if (by !== undefined) return checkName('--by', by)
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}` // it has no entry in /etc/passwd, as in some containers
  }
}
