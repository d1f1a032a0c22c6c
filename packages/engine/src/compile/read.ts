// openapi.yaml -> Contract: reads the document and collects every problem in it.

import { createHash } from 'node:crypto'
import { misplacedRefs, referencesIn } from '../document/component-kinds.js'
import type { Contract, Schema } from '../document/contract.js'
import { ContractError, errorCodePlace, type Problem } from '../document/contract-error.js'
import type { ExtensionReaders, OperationExtensionReaders, ReadBy } from '../document/extension-readers.js'
import type { ReadText } from '../document/file-text.js'
import { endlessRefs, pointerKeys } from '../document/pointer.js'
import { circular, nodeOf, Reader } from '../document/reader.js'
import { schemaPlaces } from '../document/schema-places.js'
import { versionProblem } from '../document/versions.js'
import { misspelt } from '../lib/misspelt.js'
import { shownValue } from '../lib/texts.js'
import { createFunctions } from './code/compilers.js'
import { type NamedSchemas, nameFunctions } from './code/names.js'
import {
  knownExtensions,
  operationExtensions,
  readErrorStatuses,
  readExtensions,
  readIdempotency,
  readLimits,
  withExtensions,
} from './contract/extensions.js'
import { readOperations, readRequestId } from './contract/operations.js'
import { warnOfIdleFields } from './contract/scheme-fields.js'
import { readCallbacks, readWebhooks } from './contract/sent-requests.js'
import { checkTags } from './contract/tags.js'
import { uncheckedKeywords } from './contract/unchecked.js'
import { withDecisions } from './source/decided.js'
import { misspeltFields } from './source/document-form.js'
import { withoutDynamicRefs } from './source/dynamic-refs.js'
import { createLocate, readSource, type Source } from './source/files.js'
import { addOmitted } from './source/omitted.js'
import { doubledFields, resolved } from './source/resolved.js'
import { toOpenApi31 } from './source/upgrade.js'

/** A contract read from its files. The contract of a plan keeps only the text that it serves. */
export interface ReadContract extends Contract {
  /** The document as written; if it has several files, merged into one. */
  readonly text: string
  readonly named: NamedSchemas
}

/**
 * Reads and checks the contract.
 * @param readText replaces reading files from the folder of the contract: see `filesOf`
 * @param readers read the extensions of the document that the engine does not know
 * @param operationReaders read the extensions of operations
 * @throws {ContractError} with every problem, one per line: `openapi.yaml:12:7: message`
 */
export async function readContract<Readers extends ExtensionReaders = Readonly<Record<never, never>>>(
  file: string,
  readText?: ReadText,
  readers?: Readers,
  operationReaders: OperationExtensionReaders = {},
): Promise<ReadContract & { readonly extensions: ReadBy<Readers> }> {
  const extensions = Object.keys({ ...readers, ...operationReaders })
  const source = await readSource(file, readText, extensions)
  const { problems, contract } = toContract(source, readers, operationReaders)
  if (problems.length > 0) throw new ContractError(linesOf(problems, source.locate).join('\n'))
  // `source.locate` would keep the lines of the files in memory as long as the server runs.
  const locate: Contract['locate'] = (found) => locateProblems(found, file, readText)
  return { ...contract, locate } as ReadContract & { readonly extensions: ReadBy<Readers> }
}

/** Returns a line for each problem of a contract, with its place in the file, which is read again. */
export async function locateProblems(
  problems: readonly Problem[],
  file: string,
  readText?: ReadText,
): Promise<readonly string[]> {
  return problems.length === 0 ? [] : linesOf(problems, await createLocate(file, readText))
}

function linesOf(problems: readonly Problem[], locate: Source['locate']): string[] {
  return problems.map(({ text, at, other }) => {
    return `${locate(at)}: ${text}${other === undefined ? '' : `: the other is at ${locate(other)}`}`
  })
}

const dialects = [
  'https://spec.openapis.org/oas/3.1/dialect/base',
  'https://spec.openapis.org/oas/3.2/dialect/2025-09-17',
  'https://json-schema.org/draft/2020-12/schema',
]

/** Returns the contract of a document, and its problems. With any problem, the contract must not be used. */
export function toContract(
  { document: written, text }: Pick<Source, 'document' | 'text'>,
  readers: ExtensionReaders = {},
  operationReaders: OperationExtensionReaders = {},
): { readonly contract: ReadContract; readonly problems: readonly Problem[] } {
  const { document: whole, decided } = withDecisions(written)
  const { document, added } = addOmitted(whole)
  const specification = toOpenApi31(resolved(withoutDynamicRefs(document)))
  const extensions = { ofDocument: Object.keys(readers), ofOperation: Object.keys(operationReaders) }
  const reader = new Reader(specification, extensions, String(nodeOf(document).openapi))
  const places = schemaPlaces(whole)
  const references = referencesIn(whole)
  for (const { text, at } of [
    ...added,
    ...decided,
    ...uncheckedKeywords(whole, places),
    ...misspeltFields(whole),
  ])
    reader.within(at, () => reader.warn(text))
  for (const { text, at } of [...misplacedRefs(whole, references), ...doubledFields(whole, references)])
    reader.within(at, () => reader.problem(text))
  checkDocument(reader, nodeOf(document).openapi)
  const locate: Contract['locate'] = async (found) => found.map((each) => each.text)
  const read = named(readDocument(reader, readers, operationReaders), specification)
  // A text cannot contain its own digest, so this mark occurs nowhere else in it.
  const mark = `base-${createHash('sha256').update(text).digest('hex')}`
  const write: Contract['write'] = async (form, servers) => {
    const { writeFile } = await import('./documents/written-files.js')
    return writeFile({ document, text, mark, ...read }, form, servers)
  }
  const contract = {
    document,
    text,
    specification,
    locate,
    write,
    mark,
    hasReadOrWriteOnly: places.some(({ schema }) => isReadOrWriteOnly(schema)),
    ...read,
  }
  return { contract, problems: reader.problems }
}

function named(read: ReturnType<typeof readDocument>, specification: object) {
  const parts = nameFunctions(read, specification)
  const functions: Contract['functions'] = () => createFunctions(specification, parts.named)
  return { ...read, ...parts, functions }
}

function readDocument(
  reader: Reader,
  readers: ExtensionReaders,
  operationReaders: OperationExtensionReaders,
) {
  checkReferences(reader)
  checkTags(reader)
  warnOfIdleFields(reader)
  const info = reader.node(reader.document.info)
  if (typeof info.version === 'number')
    reader.within(['info', 'version'], () =>
      reader.warn(`info.version is a number, and read as ${info.version}: write it in quotes`),
    )
  const mounted = readOperations(reader)
  const extensions = readExtensions(reader, readers)
  const operations = withExtensions(reader, mounted.operations, operationReaders, extensions)
  const errors = reader.within(errorCodePlace, () => readErrorStatuses(reader, mounted))
  return {
    title: String(info.title),
    version: String(info.version),
    ...mounted,
    operations,
    webhooks: readWebhooks(reader),
    callbacks: readCallbacks(reader, operations),
    requestId: readRequestId(reader, mounted),
    ...errors,
    extensions,
    limits: reader.within(['x-limits'], () => readLimits(reader)),
    idempotency: reader.within(['x-idempotency'], () => readIdempotency(reader)),
    warnings: reader.warnings,
  }
}

// `version` is the one written in the file: the reader's document has been upgraded.
function checkDocument(reader: Reader, version: unknown): void {
  const problem = versionProblem(version)
  if (problem !== undefined) reader.within(['openapi'], () => reader.problem(problem))
  const { ofDocument, ofOperation } = reader.extensions
  const known = knownExtensions(ofDocument)
  const misplaced = [...operationExtensions, ...ofOperation].filter((name) => !known.includes(name))
  for (const name of Object.keys(reader.document)) {
    const texts = misspelt([name], known)
    if (misplaced.includes(name))
      texts.push(`${name} belongs in an operation, not at the top level of the document`)
    for (const text of texts) reader.within([name], () => reader.problem(text))
  }
  const { $self } = reader.document
  if ($self !== undefined && !(typeof $self === 'string' && URL.canParse($self, 'https://any.invalid/')))
    reader.within(['$self'], () =>
      reader.problem(`$self must be the URI of the document, not ${shownValue($self)}`),
    )
  const { jsonSchemaDialect: dialect = dialects[0] } = reader.document
  if (!dialects.includes(String(dialect)))
    reader.within(['jsonSchemaDialect'], () =>
      reader.problem(
        `jsonSchemaDialect ${shownValue(dialect)} is not supported: ` +
          `use the default dialect of OpenAPI ${reader.version.split('.', 2).join('.')}`,
      ),
    )
}

function checkReferences(reader: Reader): void {
  const refs = referencesIn(reader.document).map(({ ref }) => ref)
  for (const ref of endlessRefs(reader.document, refs))
    reader.within(pointerKeys(ref) ?? [], () => reader.problem(circular(reader.document, ref)))
}

function isReadOrWriteOnly({ readOnly, writeOnly }: Schema): boolean {
  return readOnly === true || writeOnly === true
}
