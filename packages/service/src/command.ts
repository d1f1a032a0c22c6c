// The parts for a team's own command, such as one that fills its tables. A command is a process with a usage.
// It works on the service's database, whether the service runs or not.

export { print, type Stream } from 'contract-engine/lib/terminal'
export {
  readEnvironment,
  runProcess,
  type Surroundings,
  UsageError,
  wholeNumber,
} from './commands/command.js'
export { commandLine, defaultDatabase } from './commands/installation.js'
export { connect } from './database/connect.js'
export type { Database, Sql } from './database/database.js'
export { beginPatiently, type Patience } from './database/locks.js'
export { isUnavailable } from './database/unavailable.js'
export { logBounds } from './lib/log-bounds.js'
export { OperatorError } from './lib/operator-error.js'
