// For the tests of a project: its service as it is built, on a database of its own, and what its contract says.

import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Operation } from 'contract-engine'
import { exampleRequest, Reader } from 'contract-engine/tools'
import { readServiceContract, type ServiceContract } from '../src/auth/plans.js'
import { contractFile, projectRoot } from '../src/lib/paths.js'
import { makeTemporaryDirectory } from './lib/directory.js'
import { openTerms, runKeys, startService as startProcess } from './lib/service.js'

/** The service of a test. */
export interface TestService {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** The contract's title. */
  readonly title: string
  readonly operations: readonly Operation[]
  /** A key of the service's own, of the widest plan; undefined if the contract has no plan. */
  readonly key: string | undefined
  /**
   * Sends a request of an operation: with the values that the contract gives as examples, or with others that its
   * schemas allow, and with the key.
   */
  send(operation: Operation): Promise<Response>
  /** Ends the process, and removes its database. */
  stop(): Promise<void>
}

/**
 * Starts the service of the project, as `contract-service build` has made it.
 * @param environment variables beside those for a database of its own
 * @throws {Error} with what the service says, if it does not start
 */
export async function startService(environment: Readonly<Record<string, string>> = {}): Promise<TestService> {
  const contract = await readServiceContract(contractFile)
  const { directory, remove } = await makeTemporaryDirectory()
  const variables = { DATA_DIR: path.join(directory, 'data'), LOG_LEVEL: 'error', ...environment }
  try {
    const { origin, stop } = await startProcess(variables)
    const key = await keyOf(contract, variables)
    const reader = new Reader(contract.document)
    return {
      ...{ origin, key, title: contract.title, operations: [...contract.operations.values()] },
      send: (operation) => {
        const { method, path: target } = operation
        const request = exampleRequest(operation, contract, reader) ?? {
          method,
          target,
          headers: [],
          body: undefined,
        }
        const { headers, body } = request
        const sent = headers.map(([name, value]): [string, string] => [name, withKey(value, key)])
        return fetch(origin + operation.prefix + withKey(request.target, key), {
          method,
          headers: sent,
          body: body ?? null,
        })
      },
      stop: async () => {
        await stop()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

async function keyOf(contract: ServiceContract, variables: Readonly<Record<string, string>>) {
  const terms = openTerms(contract)
  return terms.includes('') ? undefined : runKeys(['create', '--name', 'test', ...terms], variables)
}

// In the place of what an example has for a credential.
function withKey(text: string, key = 'none'): string {
  return text.replace(/\bYOUR_(KEY|TOKEN)\b/, key)
}

/** What `contract-service generate --check` reports: nothing if generated/ is of the contract as it is. */
export async function checkGenerated(): Promise<string> {
  const program = path.join(import.meta.dirname, '../../contract-service.js')
  const run = promisify(execFile)(process.execPath, [program, 'generate', '--check'], { cwd: projectRoot })
  return run.then(
    () => '',
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  )
}
