// The contract's lint, by Redocly's recommended rules: what is wrong, and where.

import { stat } from 'node:fs/promises'
import path from 'node:path'
import {
  createConfig,
  getLineColLocation,
  type LocationObject,
  lintDocument,
  type NormalizedProblem,
} from '@redocly/openapi-core'
import { ContractError } from '../../src/contract/contract-error.js'
import { readSource } from '../../src/contract/files.js'
import { pathParameterNames } from '../../src/contract/names.js'
import { readContract } from '../../src/contract/read.js'
import { dataKeywords, mapKeywords } from '../../src/contract/upgrade.js'
import { oneLine } from '../../src/lib/one-line.js'
import { summarizeByKind } from './alike.js'
import { loadDocument } from './document.js'

/** What the lint found, a line each: `openapi.yaml:12:5 error what is wrong (rule)`. */
export interface Findings {
  /** They make the document another one than was meant. */
  readonly errors: readonly string[]
  /** It can be served all the same. */
  readonly warnings: readonly string[]
}

// What Redocly holds for errors and the server can live with: what only the documentation suffers from.
const warned = [
  'operation-summary',
  'operation-operationId-url-safe',
  'security-defined',
  'no-path-trailing-slash',
  'no-server-trailing-slash',
  'no-empty-servers',
  'no-undefined-server-variable',
  'no-identical-paths', // of one method they are refused
  'no-server-variables-empty-enum',
  'no-example-value-and-externalValue',
  'no-enum-type-mismatch', // of a written operation it is refused
]
const ofExamples = ['media-type', 'schema', 'parameter'].map((place) => `no-invalid-${place}-examples`)
// Of a large document: to check its examples would take longer than all the rest, and to hold each path to each other takes the square
// of their number. Of the ambiguous, the router takes the one that says more.
const ofSmall = [...ofExamples, 'no-ambiguous-paths']
const smallMaxBytes = 2_000_000
/** Whether a document is so large that its lint is worth a process of its own. */
export async function isLarge(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => undefined)
  return found !== undefined && found.size > smallMaxBytes
}

/**
 * Lints the document and the files that it refers to. One run at a time: the validator of examples is shared by all in a process.
 * @throws {ContractError} when it is no contract, or cannot be linted
 */
export async function lintFile(file: string): Promise<Findings> {
  const { document, resolver } = await loadDocument(file).catch(async (error) => {
    if (error instanceof ContractError) throw error
    await readSource(file) // which tells better what cannot be read, and where
    const { line, col, message } = error
    throw new ContractError(`${[shownFile(file), line, col].filter(Boolean).join(':')}: ${message}`)
  })
  const lint = async (isSmall: boolean) => {
    const config = (await createConfig({ extends: ['recommended'], rules: rulesOf(isSmall) })).styleguide
    return lintDocument({ document, config, externalRefResolver: resolver })
  }
  const isSmall = !(await isLarge(file))
  const problems = await lint(isSmall).catch(async (error) => {
    await readContract(file) // which tells better which $ref leads back to itself, or is no URL
    if (!isSmall) throw error
    return lint(false) // examples that are no list end the rule that checks them, and another rule tells of them
  })
  const errors = problems.filter((problem) => severityOf(problem) === 'error')
  const warnings = problems.filter((problem) => severityOf(problem) === 'warn')
  const { absoluteRef } = document.source
  return {
    errors: errors.map((problem) => lineOf(problem, 'error', absoluteRef)),
    warnings: errors.length > 0 ? [] : summarised(warnings, absoluteRef),
  }
}

function rulesOf(isSmall: boolean): Record<string, 'warn' | 'off'> {
  return {
    'no-server-example.com': 'off', // a local stack is a server, too
    ...Object.fromEntries(warned.map((rule) => [rule, 'warn'])),
    ...Object.fromEntries(ofSmall.map((rule) => [rule, isSmall ? 'warn' : 'off'])),
  }
}

// Where a line is takes Redocly long to find out, so of many that are alike a few are shown.
function summarised(problems: readonly NormalizedProblem[], file: string): string[] {
  return summarizeByKind(
    problems,
    ({ ruleId }) => ruleId,
    (problem) => lineOf(problem, 'warning', file),
    (count, rule) => `${shownFile(file)} warning and ${count} more like these (${rule})`,
  )
}

// What Redocly says of a document's structure is an error where the server would do other than what was meant.
function severityOf({
  ruleId,
  severity,
  message,
  location: [place],
}: NormalizedProblem): 'error' | 'warn' | 'off' {
  const pointer = place?.pointer ?? ''
  if (isInExtension(pointer)) return 'off' // it is of no rule but its maker's
  if (ruleId === 'no-unresolved-refs' && /\/discriminator\/mapping\/[^/]+$/.test(pointer)) return 'off'
  if (ruleId === 'path-parameters-defined' && message.includes('does not define')) return 'off' // it is added
  if (ruleId === 'path-parameters-defined' && isInPath(message)) return 'off'
  if (ruleId === 'no-unresolved-refs' && isInData(pointer)) return 'warn'
  if (ruleId !== 'struct') return severity
  if (isForReaders(pointer)) return 'warn'
  if (/^The `type` field must be defined when the `nullable`/.test(message)) return 'off' // it is understood without
  // Words of 3.0 in 3.1, which are understood, too.
  const isOld = /\/nullable$/.test(pointer) || /\/exclusiveM(?:in|ax)imum$/.test(pointer)
  return isOld && /is not expected here|but got `boolean`/.test(message) ? 'warn' : severity
}

// Redocly finds only names of ASCII in a path.
function isInPath(message: string): boolean {
  const [, name, route] = /^Path parameter `(.+)` is not used in the path `(.+)`\.$/s.exec(message) ?? []
  return name !== undefined && pathParameterNames(route ?? '').includes(name)
}

function isInExtension(pointer: string): boolean {
  return hasKeyword(pointer, (key) => key.startsWith('x-'))
}

function isInData(pointer: string): boolean {
  return hasKeyword(pointer, (key) => dataKeywords.has(key))
}

function isForReaders(pointer: string): boolean {
  return hasKeyword(pointer, (key) => ['externalDocs', 'contact', 'license'].includes(key))
}

// Unless it is a name of the document's own, such as a header's.
function hasKeyword(pointer: string, isThat: (key: string) => boolean): boolean {
  const keys = pointer.split('/')
  return keys.some((key, i) => isThat(key) && !mapKeywords.has(keys[i - 1] ?? ''))
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

// Of two slips of YAML, Redocly sees no more than a null. Of what is like many words, nobody can say which was meant.
function hintOf(message: string, suggest: readonly string[]): string {
  if (/^Property `\$ref` is not expected/.test(message))
    return ' It must be a text, in quotes where it begins with #.'
  if (/^`type` can be one of/.test(message) && suggest.length > guessesMax)
    return " It must be a text: 'null' is in quotes."
  return suggest.length > 0 && suggest.length <= guessesMax ? ` Did you mean ${suggest.join(' or ')}?` : ''
}

function shownPlace(place: LocationObject): string {
  const { source, start } = getLineColLocation(place)
  return `${shownFile(source.absoluteRef)}:${start.line}:${start.col}`
}

function shownFile(file: string): string {
  return path.relative(process.cwd(), file)
}
