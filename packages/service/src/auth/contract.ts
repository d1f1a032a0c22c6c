// Loads the contract of this service: from the plan that a build contains or, if run from sources, from its
// files.

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '../lib/operator-error.js'
import { contractFile, planFile } from '../lib/paths.js'
import { loadServiceContract, readServiceContract, type ServiceContract } from './plans.js'

const isBuilt = !/\.[cm]?ts$/.test(process.argv[1] ?? '')
const advice = 'Run: npm run build'

/** @throws {OperatorError} if the contract cannot be used, or has changed since the build */
export async function serviceContract(): Promise<ServiceContract> {
  if (!isBuilt) return readServiceContract(contractFile)
  const plan = await readFile(planFile).catch((error) => {
    throw new OperatorError(`cannot read ${path.relative('', planFile)}. ${advice}`, { cause: error })
  })
  return loadServiceContract(plan, contractFile, { advice })
}
