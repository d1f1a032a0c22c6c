// The engine's door for builds: the files of a contract in, a plan out, of which a server loads its contract
// (`loadContract` of serve/); and for development the contract itself, in one call. It loads little until a
// contract has changed.

export type { ExtensionReader, OperationExtensionReader } from '../document/extension-readers.js'
export { isCurrent } from '../serve/load-contract.js'
export { compileContract, readContract } from './from-files.js'
export type { ReadContract } from './read.js'
