// The door of the package: what an edit of a contract breaks.

export { diffContracts } from './contract.js'
export type { Node } from './node.js'
export { lineOf } from './report.js'
