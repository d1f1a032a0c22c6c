// The parts for a team's own tables and statements.

export { batched } from './database/batch.js'
export { inTransaction } from './database/driver/transaction.js'
export * from './database/table/columns.js'
export { table } from './database/table/table.js'
