// For the tests of a project: starts its built service on a separate database, and sends requests by its
// contract.

import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Contract, Operation } from 'contract-engine'
import { type Answer, type CallOptions, send } from 'contract-engine/lib/send'
import { exampleRequest, Reader } from 'contract-engine/tools'
import { pino } from 'pino'
import { readServiceContract, type ServiceContract } from '../src/auth/plans.js'
import { readConfig } from '../src/config.js'
import { connect } from '../src/database/connect.js'
import type { RootSql } from '../src/database/database.js'
import { contractFile, projectRoot } from '../src/lib/paths.js'
import { makeTemporaryDirectory } from './lib/directory.js'
import { type KeyCredentials, keyCredentials } from './lib/key-credentials.js'
import { readSchemes } from './lib/schemes.js'
import { openTerms, runKeys, startService as startProcess } from './lib/service.js'

export type { Answer, CallOptions } from 'contract-engine/lib/send'
export { addKeys } from './lib/rows.js'

/** The service under test. */
export interface TestService {
  readonly contract: Contract
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** The origin with the contract's prefix. */
  readonly base: string
  /** A client of the service's database. */
  readonly sql: RootSql
  /** A service key of the plan with the widest quotas; undefined if the contract has no plan. */
  readonly key: string | undefined
  /** Calls an operation by its path below the prefix. Sends the key as the contract declares it. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  /**
   * Sends a request of an operation, with the key. Its values are the contract's examples, or others that the
   * schemas allow.
   */
  send(operation: Operation): Promise<Response>
}

/** The methods of tap's tests that this module uses. */
interface Test {
  teardown(act: () => Promise<void>): void
}

type Environment = Readonly<Record<string, string>>

/**
 * Starts the service of the project, as built by `contract-service build`. The end of the test stops it and
 * removes its database.
 * @param environment variables, beside those for the separate database
 * @throws {Error} with the service's output, if it does not start
 */
export async function startService(t: Test, environment: Environment = {}): Promise<TestService> {
  const contract = await readServiceContract(contractFile)
  const { directory, remove } = await makeTemporaryDirectory()
  t.teardown(remove)
  const variables = { DATA_DIR: path.join(directory, 'data'), LOG_LEVEL: 'error', ...environment }
  const { origin, stop } = await startProcess(variables)
  t.teardown(async () => void (await stop()))
  const { sql, close } = await connect(readConfig(variables), pino({ level: 'silent' }))
  t.teardown(close)
  const key = await keyOf(contract, variables)
  const reader = new Reader(contract.document)
  const base = origin + contract.prefix
  const listed = await readSchemes(projectRoot)
  const sent = key === undefined ? undefined : keyCredentials(key, listed, contract)
  return {
    ...{ contract, origin, base, sql, key },
    call: (method, target, { headers = {}, body } = {}) =>
      send(urlWith(base + target, sent), method, { ...sent?.headers, ...headers }, body),
    send: (operation) => {
      const { method, prefix, path: target } = operation
      const { headers = [], ...request } = exampleRequest(operation, contract, reader) ?? { target }
      const sent = headers.map(([name, value]): [string, string] => [name, withKey(value, key)])
      const body = 'body' in request ? request.body : undefined
      return fetch(origin + prefix + withKey(request.target, key), {
        method,
        headers: sent,
        body: body ?? null,
      })
    },
  }
}

async function keyOf(contract: ServiceContract, variables: Environment): Promise<string | undefined> {
  const terms = openTerms(contract)
  return terms.includes('') ? undefined : runKeys(['create', '--name', 'test', ...terms], variables)
}

function urlWith(url: string, { query }: Pick<KeyCredentials, 'query'> = { query: '' }): string {
  if (query === '') return url
  return `${url}${url.includes('?') ? '&' : '?'}${query}`
}

// Puts the key in the place of an example's credential.
function withKey(text: string, key = 'none'): string {
  return text.replace(/\bYOUR_(KEY|TOKEN)\b/, key)
}

/** Returns the report of `contract-service generate --check`: empty if generated/ fits the contract. */
export async function checkGenerated(): Promise<string> {
  const program = path.join(import.meta.dirname, '../../contract-service.js')
  const run = promisify(execFile)(process.execPath, [program, 'generate', '--check'], { cwd: projectRoot })
  return run.then(
    () => '',
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  )
}
