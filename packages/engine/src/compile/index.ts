// The engine's door for builds. `compileContract` turns the files of a contract into a plan, from which a
// server loads its contract (`loadContract` of serve/); `readContract` reads the contract itself, for
// development. The door loads little until a contract has changed.

export type { ExtensionReader, OperationExtensionReader } from '../document/extension-readers.js'
export { isCurrent } from '../serve/load-contract.js'
export { compileContract, readContract } from './from-files.js'
export type { ReadContract } from './read.js'
