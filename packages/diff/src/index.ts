// The door of the package, for code that finds out what an edit of a contract breaks.

export { diffContracts } from './contract.js'
export type { Node } from './node.js'
export { lineOf } from './report.js'
