// Parses a file of the contract, and finds the line of each of its parts. JSON is YAML, too.

import { parse as parseLossless } from 'lossless-json'
import {
  type CST,
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  Parser,
  parseDocument,
  type Scalar,
  visit,
} from 'yaml'
import type { Pointer, Problem } from '../../document/contract-error.js'
import { nodeOf } from '../../document/reader.js'
import { versionProblem } from '../../document/versions.js'
import { placeIn, wholeDocument } from '../../document/walk.js'
import { exactNumber, isKeptByDouble, narrowed } from '../../lib/exact-number.js'
import { oneLine } from '../../lib/texts.js'
import { formProblem, misshapen, nestingMax, tooDeep } from './document-form.js'
import { createMembers, firstValue, type Member } from './json-position.js'
import { faultsOf } from './yaml-faults.js'
import { mergeTag, nameUnmerged } from './yaml-merges.js'

/**
 * Returns the value of a file.
 * @throws {Error} if it cannot be parsed, with the place in the form of the YAML parser's own errors
 */
export function parseText(text: string): object {
  checkUtf8(text)
  checkConflicts(text)
  const isJson = /^\s*\{/.test(text) && !text.includes('__proto__')
  const value = (isJson ? parseJsonText(text) : undefined) ?? parseYaml(text)
  const problem = formProblem(value)
  refuse(problem === undefined ? [] : [problem], text)
  return value
}

/**
 * Returns the value of the first file, the document itself.
 * @throws {Error} also if it does not have the form of a document
 */
export function parseDocumentText(text: string): object {
  const value = parseText(text)
  if (Array.isArray(value)) throw noMapping()
  const version = versionProblem(nodeOf(value).openapi)
  // What the fields must be depends on the version.
  refuse(version === undefined ? misshapen(value) : [{ text: version, at: ['openapi'] }], text)
  return value
}

function noMapping(): Error {
  return atPlace('the file must contain a mapping: names and their values, as openapi: 3.1.0 is', 1, 1)
}

function refuse(problems: readonly Problem[], text: string): void {
  if (problems.length === 0) return
  const positionOf = createPosition(text)
  throw allOf(
    problems.map((each) => {
      const { line, col } = positionOf(each.at) ?? { line: 1, col: 1 }
      return atPlace(oneLine(each.text), line, col)
    }),
  )
}

// Joins the errors' first lines.
function allOf(errors: readonly Error[]): Error {
  return new Error(errors.map(({ message }) => message.split('\n', 1)[0]).join('\n'))
}

function atPlace(text: string, line: number, column: number): Error {
  return new Error(`${text} at line ${line}, column ${column}:`)
}

// The reader of files (file-text.ts) leaves a lone surrogate where a file is not UTF-8.
function checkUtf8(text: string): void {
  const at = text.search(/\p{Surrogate}/u)
  if (at < 0) return
  const before = text.slice(0, at).split('\n')
  throw atPlace('the file is not UTF-8', before.length, (before.at(-1) ?? '').length + 1)
}

// No line of YAML or JSON begins with these.
function checkConflicts(text: string): void {
  const { index, 0: marker } = /^(?:<{7}|\|{7}|={7}|>{7})(?=\s|$)/m.exec(text) ?? {}
  if (index === undefined) return
  const line = text.slice(0, index).split('\n').length
  throw atPlace(`${marker} is a marker of git: a merge has left a conflict here`, line, 1)
}

// The JSON parser is about ten times as fast as the YAML parser, which reports syntax errors and duplicate
// keys better.
function parseJsonText(text: string): object | undefined {
  try {
    return parseLossless(text, undefined, { parseNumber }) as object // the text starts with a brace
  } catch {
    return undefined
  }
}

// Throws if a number would be rounded. Then the YAML parser reads the text, and knows whether that is
// allowed.
function parseNumber(numeral: string): number | bigint {
  const value = exactNumber(numeral)
  if (typeof value === 'number' && !isKeptByDouble(numeral)) throw new RangeError(numeral)
  return value
}

function parseYaml(text: string): object {
  const lines = new LineCounter()
  const parsed = parseDocument(text, { intAsBigInt: true, merge: true, lineCounter: lines })
  nameUnmerged(parsed)
  if (parsed.errors[0]?.code === 'RESOURCE_EXHAUSTION') refuseNesting(text, lines)
  const faults = faultsOf(parsed, text).map((fault) => {
    const { line, col } = lines.linePos(fault.offset)
    return atPlace(oneLine(fault.text), line, col)
  })
  if (faults.length > 0) throw allOf(faults)
  const value: unknown = parsed.toJS({
    reviver: (_: unknown, each: unknown) => (typeof each === 'bigint' ? narrowed(each) : each),
  })
  if (typeof value !== 'object' || value === null) throw noMapping()
  refuseOtherThanJson(parsed, lines)
  return value
}

// The YAML parser recurses, and reports a stack overflow as resource exhaustion. This finds the place without
// recursion: the tokens are nested as the values are.
function refuseNesting(text: string, lines: LineCounter): void {
  const pending = [...new Parser().parse(text)].map((token) => ({ token, depth: -1 }))
  for (let each = pending.pop(); each !== undefined; each = pending.pop()) {
    const { token, depth } = each
    if (depth > nestingMax) {
      const { line, col } = lines.linePos(token.offset)
      throw atPlace(tooDeep, line, col)
    }
    pending.push(...innerTokens(token).map((inner) => ({ token: inner, depth: depth + 1 })))
  }
}

// Returns the inner tokens, the last first.
function innerTokens(token: CST.Token): CST.Token[] {
  if (token.type === 'document') return token.value === undefined ? [] : [token.value]
  if (!('items' in token)) return []
  return token.items.flatMap(({ key, value }) => [key ?? [], value ?? []].flat()).reverse()
}

// OpenAPI 3.1.1, section 4.3: a document in YAML contains only what JSON can represent.
function refuseOtherThanJson(parsed: Document, lines: LineCounter): void {
  const found: Error[] = []
  visit(parsed, {
    Node(place, each, around) {
      const { tag = '', source, value, range } = each as Scalar.Parsed // or a collection, which has no source
      if (place === 'key' && tag === mergeTag) return
      const isKnown = place === 'key' || typeof value !== 'number' || Number.isFinite(value)
      const isRounded = typeof value === 'number' && Number.isFinite(value) && !isKept(source)
      const keyword = isRounded ? exactKeywordIn(around) : undefined
      if (isKnown && jsonTags.test(tag) && keyword === undefined) return
      const { line, col } = lines.linePos(range?.[0] ?? 0)
      const shown = tag.replace('tag:yaml.org,2002:', '!!')
      const ofTag = isKnown ? `${shown} is no type of JSON` : `${source} is not a JSON number`
      const fault =
        keyword === undefined
          ? ofTag
          : `${keyword} ${source} has more digits than a double keeps: it would be ${value}`
      found.push(atPlace(fault, line, col))
    },
  })
  if (found.length > 0) throw allOf(found)
}

// Unlike JSON, YAML has `+1.5` and `5.`.
function isKept(numeral: string): boolean {
  return isKeptByDouble(numeral.replace(/^\+/, '').replace(/\.(?=$|e)/i, ''))
}

// Bounds may be rounded, and so may values that are only documentation.
const exactKeywords = ['default', 'const', 'enum', 'multipleOf']

// Returns the keyword that a value is in, by the nodes around it.
function exactKeywordIn(around: readonly unknown[]): string | undefined {
  let place = wholeDocument
  for (const each of around) {
    if (isSeq(each)) place = placeIn(place, '', true)
    if (!isPair(each)) continue
    const name = String(each.key)
    if (!place.isMap && !place.isData && exactKeywords.includes(name)) return name
    place = placeIn(place, name)
  }
  return undefined
}

const jsonTags = /^(!?|tag:yaml\.org,2002:(null|bool|int|float|str|seq|map))$/

/** Returns the line of a part of a file, or else of the part around it; undefined if neither has one. */
export type Position = (at: Pointer) => { readonly line: number; readonly col: number } | undefined

/** Returns a function that finds lines in a file. It parses the file as YAML, unless that is JSON. */
export function createPosition(text: string): Position {
  const lines = new LineCounter()
  const offsetAt = isJsonText(text) ? jsonOffsets(text, lines) : yamlOffsets(text, lines)
  return (at) => {
    const offset = offsetAt(at)
    return offset === undefined ? undefined : lines.linePos(offset)
  }
}

function isJsonText(text: string): boolean {
  try {
    return /^\s*\{/.test(text) && JSON.parse(text) !== undefined
  } catch {
    return false
  }
}

type OffsetAt = (at: Pointer) => number | undefined

function jsonOffsets(text: string, lines: LineCounter): OffsetAt {
  const membersAt = createMembers(text)
  for (let start = 0; start >= 0; start = text.indexOf('\n', start) + 1 || -1) lines.addNewLine(start)
  return (at) => {
    let offset: number | undefined
    let value: number | undefined = firstValue(text)
    for (const key of at.map(String)) {
      const member: Member | undefined = value === undefined ? undefined : membersAt(value).get(key)
      offset = member?.start ?? offset
      value = member?.value
    }
    return offset
  }
}

function yamlOffsets(text: string, lines: LineCounter): OffsetAt {
  const root = parseDocument(text, { lineCounter: lines }).contents
  return (at) => offsetOf(root, at)
}

// Returns the offset of a part, or of its key if it has one. If the part does not exist, returns the offset
// of the innermost part around it that does.
function offsetOf(root: unknown, at: Pointer): number | undefined {
  let offset: number | undefined
  let node = root
  for (const key of at.map(String)) {
    const pair = isMap(node)
      ? node.items.find((each) => isScalar(each.key) && String(each.key.value) === key)
      : undefined
    const item = isSeq(node) ? node.items[Number(key)] : undefined
    const start = pair?.key ?? item
    if (isNode(start)) offset = start.range?.[0] ?? offset
    node = pair?.value ?? item
  }
  return offset
}
