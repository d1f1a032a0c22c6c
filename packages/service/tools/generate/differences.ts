// Compares a project's generated files and handlers with its contract, and writes the differences.

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { generateClient } from 'contract-client/generate'
import { ContractError, type Operation } from 'contract-engine'
import type { ReadContract } from 'contract-engine/compile'
import {
  generateErrors,
  generateOperations,
  generateTypes,
  keptJudgements,
  outdated,
  slowPatterns,
} from 'contract-engine/generate'
import { byStatus, serverErrors } from 'contract-engine/tools'
import type { ServiceContract } from '../../src/auth/plans.js'
import { additionsTo } from '../../src/http/additions.js'
import { contractFile } from '../../src/lib/paths.js'
import { defaultList, type Listed, readSchemes } from '../lib/schemes.js'
import { securityOf } from '../lib/server.js'
import { clientAgent } from './client-agent.js'
import { type Checked, checkContract } from './contract.js'
import { readErrorBody } from './error-body.js'
import {
  declaresResponses,
  generateHandlers,
  generateStub,
  handlersFolder,
  isHandlerFile,
  isStubText,
} from './handlers.js'
import { header } from './header.js'
import { checkServer, unmetIn } from './server.js'

const generatedFolder = 'generated'

/** A file that differs from what the contract generates. Without content, the file should not exist. */
export interface Difference {
  readonly file: string
  readonly state: 'stale' | 'missing' | 'orphaned'
  readonly content?: string
}

/** The outcome for a file. An existing handler is never touched, even if it is orphaned. */
export interface Written {
  readonly file: string
  readonly state: 'written' | 'added' | 'removed' | 'orphaned'
}

export interface Findings extends Checked {
  readonly differences: readonly Difference[]
  /** True if each pattern was judged. */
  readonly areJudged: boolean
}

/**
 * Compares the project in a folder with its contract, and writes nothing.
 * @param isAdopted true: operations without a handler are treated like stubs, so that unsupported features
 * are warnings. False: a new operation must be fully supported.
 * @throws {ContractError} with every problem of the contract, one per line
 */
export async function findDifferences(root: string, isAdopted = false): Promise<Findings> {
  const handlers = await readHandlers(root)
  const list = await readSchemes(root)
  const errorBody = readErrorBody(root)
  let judged: Judged = { judgements: new Map(), files: [] }
  const { contract, warnings } = await checkContract(
    path.join(root, path.basename(contractFile)),
    async (contract) => {
      judged = await keptJudgements(contract.document, path.join(root, generatedFolder))
      const { judgements } = judged
      const listed = list ?? defaultList(contract)
      const isWritten = (operation: Operation) => {
        const text = handlers.get(operation.name)
        if (text !== undefined) return !isStubText(text)
        // A new operation may lack responses, or use a declared security scheme that the server does not
        // check yet.
        if (operation.responses.size === 0) return false
        const isMistaken = operation.security.flat().some(({ name }) => !contract.securitySchemes.has(name))
        return !isAdopted && (isMistaken || unmetIn(operation, contract, listed).length === 0)
      }
      return checkServer(contract, isWritten, { errorBody, listed, judgements })
    },
  )
  const own = ownErrors(contract, list)
  const refusals = undeclaredRefusals(contract, handlers, own)
  const problems = [...undeclaredResponses(contract, handlers), ...refusals]
  if (problems.length > 0) throw new ContractError(problems.join('\n'))
  return {
    contract,
    differences: [
      ...(await generatedDifferences(root, contract, own, judged)),
      ...handlerDifferences(contract, [...handlers.keys()]),
    ],
    areJudged: slowPatterns(contract.document, judged.judgements).every(({ isJudged }) => isJudged),
    warnings,
  }
}

type Judged = Awaited<ReturnType<typeof keptJudgements>>

async function generatedDifferences(
  root: string,
  contract: ServiceContract & ReadContract,
  own: OwnErrors,
  { files }: Judged,
): Promise<Difference[]> {
  const types = generateTypes(contract)
  const contents = new Map([
    ['types.ts', header + types],
    ['operations.ts', header + generateOperations(contract, types, own.keys())],
    ['errors.ts', header + generateErrors(contract, types, own.keys())],
    ['handlers.ts', generateHandlers(contract)],
    ['client.ts', header + generateClient(contract, types, { agent: await clientAgent(root) })],
    ...files,
    ['openapi.yaml', contract.text], // in one file for installations, however many the contract has
  ])
  const folder = path.join(root, generatedFolder)
  const present: string[] = await readdir(folder).catch(() => [])
  const orphaned = present.filter((name) => !contents.has(name))
  const fileOf = (name: string) => `${generatedFolder}/${name}`
  return [
    ...(await outdated(folder, contents)).map(({ name, ...rest }) => ({ file: fileOf(name), ...rest })),
    ...orphaned.map((name): Difference => ({ file: fileOf(name), state: 'orphaned' })),
  ]
}

function handlerDifferences({ operations }: ServiceContract, present: readonly string[]): Difference[] {
  const declared = [...operations.values()]
  const fileOf = (name: string) => `${handlersFolder}/${name}.ts`
  const missing = declared.filter(({ name }) => !present.includes(name))
  const orphans = present.filter((name) => !declared.some((each) => each.name === name))
  return [
    ...missing.map((operation): Difference => {
      return { file: fileOf(operation.name), state: 'missing', content: generateStub(operation) }
    }),
    ...orphans.map((name): Difference => ({ file: fileOf(name), state: 'orphaned' })),
  ]
}

// Returns the source text of each handler by module name. Not imported, because that would run it.
async function readHandlers(root: string): Promise<ReadonlyMap<string, string>> {
  const folder = path.join(root, handlersFolder)
  const files = (await readdir(folder)).filter(isHandlerFile)
  const texts = files.map(
    async (file) => [path.basename(file, '.ts'), await readFile(path.join(folder, file), 'utf8')] as const,
  )
  return new Map(await Promise.all(texts))
}

// A handler must declare its responses: otherwise it would still compile when an edit removes one of their
// fields.
function undeclaredResponses(
  { operations }: ServiceContract,
  handlers: ReadonlyMap<string, string>,
): string[] {
  return [...operations.values()].flatMap(({ name }) => {
    const text = handlers.get(name)
    if (text === undefined || isStubText(text) || declaresResponses(text, name)) return []
    const form = `export async function ${name}(…): Promise<Response<'${name}'>>`
    return [`${handlersFolder}/${name}.ts: declare its responses, so that the compiler checks them: ${form}`]
  })
}

// The status of each error that the server itself sends, by its code.
type OwnErrors = ReadonlyMap<string, number>

function ownErrors(contract: ServiceContract, listed: Listed | undefined): OwnErrors {
  return serverErrors(contract, additionsTo(contract, securityOf(contract, listed)))
}

// Each error that a handler throws must be declared as a response, unless the server also sends it itself.
function undeclaredRefusals(
  contract: ServiceContract,
  handlers: ReadonlyMap<string, string>,
  own: OwnErrors,
): string[] {
  const { operations, errorStatuses, describesErrors } = contract
  if (!describesErrors) return []
  return [...operations.values()].flatMap(({ id, name, responses }) => {
    return thrownCodes(handlers.get(name) ?? '').flatMap((code) => {
      const status = errorStatuses.get(code)
      const isOwn = status === undefined || own.has(code) // the compiler refuses unknown codes
      if (isOwn || byStatus(responses)(status) !== undefined) return []
      return [
        `${handlersFolder}/${name}.ts: throws ApiError ${code}, but ${id} declares no ${status} response`,
      ]
    })
  })
}

// Finds the codes in `new ApiError('code', …)` and `onConstraint({ name: 'code', other: ['code', …] })`.
function thrownCodes(text: string): string[] {
  const thrown = [...text.matchAll(/new ApiError\(\s*'(\w+)'/g)]
  const mapped = [...text.matchAll(/onConstraint\(\{(.*?)\}\)/gs)].flatMap(([, codes = '']) => [
    ...codes.matchAll(/:\s*\[?\s*'(\w+)'/g),
  ])
  return [...new Set([...thrown, ...mapped].map(([, code = '']) => code))]
}

/** Writes the differences to the project in a folder, but neither changes nor removes existing handlers. */
export async function writeDifferences(
  root: string,
  differences: readonly Difference[],
): Promise<readonly Written[]> {
  const written: Written[] = []
  for (const { file, content } of differences) {
    const target = path.join(root, file)
    const isGenerated = file.startsWith(`${generatedFolder}/`)
    await mkdir(path.dirname(target), { recursive: true })
    // With the flag wx, writing fails rather than overwrite a handler created in the meantime.
    if (content !== undefined) await writeFile(target, content, { flag: isGenerated ? 'w' : 'wx' })
    else if (isGenerated) await rm(target)
    const [made, left] = isGenerated ? (['written', 'removed'] as const) : (['added', 'orphaned'] as const)
    written.push({ file, state: content === undefined ? left : made })
  }
  return written
}
