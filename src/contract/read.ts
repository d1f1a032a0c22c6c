// openapi.yaml -> Contract: what the document says, once it is known to be one that the server can keep its word by.

import { misspelt } from '../lib/misspelt.js'
import { ContractError, type Problem } from './contract-error.js'
import {
  knownExtensions,
  readErrorStatuses,
  readIdempotency,
  readLimits,
  readRateLimits,
} from './extensions.js'
import { type ReadText, readSource, type Source } from './files.js'
import { withOmitted } from './omitted.js'
import { errorTypeOf, readOperations, readRequestId } from './operations.js'
import { isEndless, keysOf } from './pointer.js'
import { Reader } from './reader.js'
import type { Contract } from './types.js'
import { toOneDialect } from './upgrade.js'

/**
 * Reads and checks the contract.
 * @param readText reads a file of it, where that is not the one on the disk
 * @throws {ContractError} naming every problem at once.
 */
export async function readContract(file: string, readText?: ReadText): Promise<Contract> {
  const source = await readSource(file, readText)
  const { problems, contract } = toContract(source)
  if (problems.length === 0) return contract
  throw new ContractError(problems.map(({ text, at }) => `${source.locate(at)}: ${text}`).join('\n'))
}

const dialects = [
  'https://spec.openapis.org/oas/3.1/dialect/base',
  'https://json-schema.org/draft/2020-12/schema',
]

/** The contract that a document makes, and what is wrong with it: with a problem, the contract is none. */
export function toContract({ document: written, text }: Pick<Source, 'document' | 'text'>): {
  readonly contract: Contract
  readonly problems: readonly Problem[]
} {
  const { document, added } = withOmitted(written)
  const specification = toOneDialect(document)
  const reader = new Reader(specification)
  for (const text of added) reader.leave(text)
  const { openapi } = document as { openapi?: unknown }
  if (!/^3\.[01]\./.test(String(openapi)))
    reader.within(['openapi'], () =>
      reader.problem(`openapi must be a version 3.0.x or 3.1.x, not ${openapi}`),
    )
  for (const name of Object.keys(reader.document)) {
    for (const text of misspelt([name], knownExtensions)) reader.within([name], () => reader.problem(text))
  }
  const { jsonSchemaDialect } = reader.document
  if (jsonSchemaDialect !== undefined && !dialects.includes(String(jsonSchemaDialect)))
    reader.within(['jsonSchemaDialect'], () =>
      reader.problem(
        `jsonSchemaDialect ${jsonSchemaDialect} is not supported: schemas are those of OpenAPI 3.1`,
      ),
    )
  const specificationText = JSON.stringify(specification)
  checkReferences(reader, specificationText)
  const info = reader.node(reader.document.info)
  const mounted = readOperations(reader)
  const errors = reader.within(['components', 'schemas', 'ErrorCode'], () => readErrorStatuses(reader))
  const contract: Contract = {
    document,
    text,
    specification,
    title: String(info.title),
    version: String(info.version),
    ...mounted,
    requestId: readRequestId(reader, mounted),
    errorType: errors.describesErrors ? errorTypeOf(mounted) : 'application/json',
    ...errors,
    ...reader.within(['x-rate-limits'], () => readRateLimits(reader)),
    limits: reader.within(['x-limits'], () => readLimits(reader)),
    idempotency: reader.within(['x-idempotency'], () => readIdempotency(reader)),
    left: reader.left,
    hasOneWayFields: /"(readOnly|writeOnly)":true/.test(specificationText),
  }
  return { contract, problems: reader.problems }
}

function checkReferences(reader: Reader, text: string): void {
  for (const ref of new Set([...text.matchAll(/"\$ref":"(#\/[^"]*)"/g)].map(([, pointer = '']) => pointer))) {
    if (!isEndless(reader.document, ref)) continue
    reader.within(keysOf(ref) ?? [], () => reader.problem(`$ref ${ref} leads back to itself`))
  }
}
