// The engine's door for generating TypeScript from a contract. It loads openapi-typescript and the TypeScript
// compiler, which are development dependencies: no server needs them.

export { judgementsOf, keptJudgements, type SlowPattern, slowPatterns, unjudged } from './backtracking.js'
export { doublings } from './doublings.js'
export { filledNames } from './filled.js'
export type { Judgements } from './judgements.js'
export { importOf, type Notation, namedType, notationOf } from './notation.js'
export { generateErrors, generateOperations, requestType } from './operations.js'
export { outdated } from './outdated.js'
export { generateTypes } from './types.js'
