// Tables of a team's own, and what its statements use.

export { batched } from './database/batch.js'
export { inTransaction } from './database/driver/transaction.js'
export * from './database/table/columns.js'
export { table } from './database/table/table.js'
