// Lints the contract with Redocly's recommended rules.

import { stat } from 'node:fs/promises'
import path from 'node:path'
import {
  type BaseResolver,
  createConfig,
  type Document,
  getLineColLocation,
  type LocationObject,
  lintDocument,
  type NormalizedProblem,
} from '@redocly/openapi-core'
import { ContractError } from 'contract-engine'
import { readContract } from 'contract-engine/compile'
import { oneLine } from 'contract-engine/lib/texts'
import {
  isOpenApi30,
  nodeOf,
  ofOtherDrafts,
  pathParameterNames,
  placeIn,
  readSource,
  wholeDocument,
} from 'contract-engine/tools'
import { loadDocument, toPath } from './document.js'
import { redoclyTypes } from './redocly-types.js'
import { summarizeByKind } from './summarize.js'

/** The lint's findings, one per line: `openapi.yaml:12:5 error message (rule)`. */
export interface LintResult {
  /** Findings on which the server would do something other than the author meant. */
  readonly errors: readonly string[]
  /** Findings that the server can live with. */
  readonly warnings: readonly string[]
}

// Redocly reports these as errors. Here they are warnings, because only the documentation suffers.
const warned = [
  'operation-summary',
  'operation-operationId-url-safe',
  'security-defined',
  'no-path-trailing-slash',
  'no-server-trailing-slash',
  'no-empty-servers',
  'no-undefined-server-variable',
  'no-identical-paths', // if the method is the same, the reader rejects them
  'no-server-variables-empty-enum',
  'no-example-value-and-externalValue',
  'no-enum-type-mismatch', // the validators of implemented operations reject it
]
const ofExamples = ['media-type', 'schema', 'parameter'].map((place) => `no-invalid-${place}-examples`)
// Off for large documents: checking examples takes longer than all the rest, and comparing paths is
// quadratic. Skipping the latter is safe, because the router prefers the more specific of two ambiguous
// paths.
const ofSmall = [...ofExamples, 'no-ambiguous-paths']
const smallMaxBytes = 2_000_000

/** True if a document is so large that it should be linted in a separate process. */
export async function isLarge(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => undefined)
  return found !== undefined && found.size > smallMaxBytes
}

/**
 * Lints a document and the files it refers to. Not reentrant, because a process has only one of Redocly's
 * validators of examples.
 * @throws {ContractError} if the document is not a contract or cannot be linted
 */
export async function lintFile(file: string): Promise<LintResult> {
  const { document, resolver } = await loadDocument(file).catch(async (error) => {
    if (error instanceof ContractError) throw error
    await readSource(file) // throws a better error, with the location
    const { line, col, message } = error
    throw new ContractError(`${[shownFile(file), line, col].filter(Boolean).join(':')}: ${message}`)
  })
  return findings(file, document, resolver).catch(async (error) => {
    if (!(error instanceof TypeError)) throw error
    await readContract(file) // throws a better error, for instance about a YAML tag
    throw new ContractError(`${shownFile(file)}: a field has a value that cannot be read: ${error.message}`)
  })
}

async function findings(file: string, document: Document, resolver: BaseResolver): Promise<LintResult> {
  const lint = async (isSmall: boolean) => {
    const config = (await createConfig({ extends: ['recommended'], rules: rulesOf(isSmall) })).styleguide
    const customTypes = redoclyTypes(nodeOf(document.parsed))
    return lintDocument({ document, config, externalRefResolver: resolver, customTypes })
  }
  const isSmall = !(await isLarge(file))
  const problems = await lint(isSmall).catch(async (error) => {
    await readContract(file) // throws a better error for a circular or malformed $ref
    if (!isSmall) throw error
    return lint(false) // the rule for examples throws if they are no array; another rule reports that
  })
  const isOld = isOpenApi30(nodeOf(document.parsed))
  const errors = problems.filter((problem) => severityOf(problem, isOld) === 'error')
  const warnings = problems.filter((problem) => severityOf(problem, isOld) === 'warn')
  const shown = toPath(document.source.absoluteRef)
  return {
    errors: await linesOf(errors, shown),
    warnings: errors.length > 0 ? [] : summarised(warnings, shown),
  }
}

// For a `$ref` without a target, the errors of the contract's reader are better.
async function linesOf(errors: readonly NormalizedProblem[], file: string): Promise<string[]> {
  const lines = (all: readonly NormalizedProblem[]) => all.map((each) => lineOf(each, 'error', file))
  const others = errors.filter(({ ruleId }) => ruleId !== 'no-unresolved-refs')
  if (others.length === errors.length) return lines(errors)
  try {
    await readSource(file)
    return lines(errors)
  } catch (error) {
    return [...(error as Error).message.split('\n'), ...lines(others)]
  }
}

function rulesOf(isSmall: boolean): Record<string, 'warn' | 'off'> {
  return {
    'no-server-example.com': 'off', // it would reject localhost, too
    'operation-operationId': 'off', // the reader reports the name that it uses instead
    'operation-operationId-unique': 'off', // the reader reports where the other one is
    ...Object.fromEntries(warned.map((rule) => [rule, 'warn'])),
    ...Object.fromEntries(ofSmall.map((rule) => [rule, isSmall ? 'warn' : 'off'])),
  }
}

// Shows only a few of each kind, because Redocly takes long to compute a line number.
function summarised(problems: readonly NormalizedProblem[], file: string): string[] {
  return summarizeByKind(
    problems,
    ({ ruleId }) => ruleId,
    (problem) => lineOf(problem, 'warning', file),
    (count, rule) => `${shownFile(file)} warning and ${count} more like these (${rule})`,
  )
}

// A finding about the document's structure is an error if the server would do something other than the author
// meant.
function severityOf(
  { ruleId, severity, message, location: [place] }: NormalizedProblem,
  isOld: boolean,
): 'error' | 'warn' | 'off' {
  const pointer = place?.pointer ?? ''
  const { fields, isData } = nestingOf(pointer)
  if (fields.some((field) => field.startsWith('x-'))) return 'off' // an extension may contain anything
  if (ruleId === 'no-unresolved-refs' && /\/discriminator\/mapping\/[^/]+$/.test(pointer)) return 'off'
  // The server adds missing path parameters.
  if (ruleId === 'path-parameters-defined' && message.includes('does not define')) return 'off'
  if (ruleId === 'path-parameters-defined' && isInPath(message)) return 'off'
  if (ruleId === 'no-unresolved-refs' && (isData || fields.includes('examples'))) return 'warn'
  if (ruleId !== 'struct') return severity
  if (fields.some((field) => ['externalDocs', 'contact', 'license'].includes(field))) return 'warn'
  // True and false are schemas, but in OpenAPI 3.0 only as additionalProperties.
  if (!isOld && /^Expected type `Schema` \(object\) but got `boolean`/.test(message)) return 'off'
  if (isOfOtherType(message, pointer)) return 'off'
  // A header's name is its key in the map, and its place is fixed (OpenAPI 3.1.1, section 4.8.21).
  if (/\/headers\/[^/]+\/(?:name|in)$/.test(pointer) && message.includes('is not expected here'))
    return 'warn'
  // The server supports `nullable` without a type.
  if (/^The `type` field must be defined when the `nullable`/.test(message)) return 'off'
  // The server supports these keywords of 3.0 in a 3.1 document.
  const isKnown = /\/nullable$/.test(pointer) || /\/exclusiveM(?:in|ax)imum$/.test(pointer)
  return isKnown && /is not expected here|but got `boolean`/.test(message) ? 'warn' : severity
}

// True for a field that belongs to another type of security scheme, or to another flow. The contract's reader
// warns of it.
function isOfOtherType(message: string, pointer: string): boolean {
  if (/^The field `.+` is not allowed here/.test(message)) return true
  const flow = /\/securitySchemes\/[^/]+\/flows\/\w+\/(?:authorizationUrl|tokenUrl|deviceAuthorizationUrl)$/
  return flow.test(pointer) && message.includes('is not expected here')
}

// Redocly recognizes only ASCII names in a path.
function isInPath(message: string): boolean {
  const [, name, route] = /^Path parameter `(.+)` is not used in the path `(.+)`\.$/s.exec(message) ?? []
  return name !== undefined && pathParameterNames(route ?? '').includes(name)
}

// Returns the fields and keywords on the way of a pointer, but no names in maps (such as a header's). Also
// tells if the pointer leads to data.
function nestingOf(pointer: string): { readonly fields: readonly string[]; readonly isData: boolean } {
  let place = wholeDocument
  const fields = pointer.split('/').filter((key) => {
    const isField = !place.isMap
    place = placeIn(place, key)
    return isField
  })
  return { fields, isData: place.isData }
}

function lineOf(
  { message, ruleId, location: [place], from, suggest }: NormalizedProblem,
  severity: 'error' | 'warning',
  contractFile: string,
): string {
  const shown = place ? shownPlace(place) : shownFile(contractFile)
  const way = from ? `, by the $ref at ${shownPlace(from)}` : ''
  const text = oneLine(message) + hintOf(message, suggest)
  return `${shown} ${severity} ${text} (${ruleId}${way})`
}

const guessesMax = 3

// Two YAML mistakes, an unquoted # and an unquoted null, look the same to Redocly: null. More than three
// suggestions do not help.
function hintOf(message: string, suggest: readonly string[]): string {
  if (/^Property `\$ref` is not expected/.test(message))
    return ' It must be a text, in quotes where it begins with #.'
  const [, name = ''] = /^Property `(.+)` is not expected here/.exec(message) ?? []
  const modern = ofOtherDrafts.get(name)
  if (modern !== undefined) return ` It is of another draft of JSON Schema: write ${modern}.`
  if (/^Expected type `Schema` \(object\) but got `array`/.test(message))
    return '. A schema for each of the first items is written as prefixItems.'
  if (/^`type` can be one of/.test(message) && suggest.length > guessesMax)
    return " It must be a text: 'null' is in quotes."
  return suggest.length > 0 && suggest.length <= guessesMax ? ` Did you mean ${suggest.join(' or ')}?` : ''
}

function shownPlace(place: LocationObject): string {
  const { source, start } = getLineColLocation(place)
  return `${shownFile(toPath(source.absoluteRef))}:${start.line}:${start.col}`
}

function shownFile(file: string): string {
  return path.relative(process.cwd(), file)
}
