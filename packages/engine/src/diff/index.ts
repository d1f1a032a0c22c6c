// The engine's door for comparing contracts.

export { diffContracts } from './contract.js'
export type { Node } from './node.js'
export { lineOf } from './report.js'
