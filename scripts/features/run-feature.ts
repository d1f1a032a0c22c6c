// Tries a feature of OpenAPI as generate does: it refuses the contract with a line, or a server is called.

import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { ContractError } from 'contract-engine'
import { generateOperations } from 'contract-engine/generate'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { checkContract } from 'contract-service/tools/generate/contract'
import { readyServer } from 'contract-service/tools/generate/server'
import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'
import { listEach } from 'contract-service/tools/lib/schemes'
import { contractOf, type Feature, type Outcome, type Result, runCalls } from 'contract-testing/features'

/** The features of the page. */
export const featuresFile = path.join(projectRoot, 'packages/engine/test/features.yaml')

/** Runs generate's checks on a feature's contract, then its calls against a server built from it. */
export function runFeature(feature: Feature): Promise<Result> {
  return inTemporaryDirectory(async (directory) => {
    for (const [name, text] of Object.entries({ ...feature.files, 'openapi.yaml': contractOf(feature) }))
      await writeFile(path.join(directory, name), text)
    try {
      let outcomes: Outcome[] = []
      const { contract } = await checkContract(path.join(directory, 'openapi.yaml'), async (contract) => {
        const own = { listed: listEach(contract) }
        outcomes = await runCalls(feature, contract, (...parts) => readyServer(...parts, own))
        return { noted: [], planned: [] }
      })
      generateOperations(contract)
      return { outcomes }
    } catch (error) {
      if (!(error instanceof ContractError)) throw error
      const folder = `${path.relative(process.cwd(), directory)}/`
      return { refused: error.message.replaceAll(folder, '').split('\n'), outcomes: [] }
    }
  })
}
