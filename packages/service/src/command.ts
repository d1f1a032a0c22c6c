// What a command of a team's own is made of, such as one that fills its tables: run as a process with a
// usage, on the service's database, whether the service runs or not.

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
