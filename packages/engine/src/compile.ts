// The engine's door for builds: the files of a contract in, a plan out, of which a server loads its contract
// (`loadContract` of index.ts). It loads little until a contract has changed.

export { compileContract } from './plan/from-files.js'
export { isCurrent } from './plan/load-contract.js'
