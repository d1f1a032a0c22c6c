// The contract's files: openapi.yaml and the files it refers to, bundled into one document, with the location
// of each part.

import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { JSONParserError, JSONParserErrorGroup } from '@apidevtools/json-schema-ref-parser'
import { parse as parseLossless } from 'lossless-json'
import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Scalar,
  stringify,
  visit,
} from 'yaml'
import { exactNumber, isKeptByDouble, narrowed } from '../../lib/exact-number.js'
import { oneLine } from '../../lib/one-line.js'
import { ContractError, type Pointer } from './contract-error.js'
import { withDecisions } from './decided.js'
import { withWrittenRefs } from './discriminator.js'
import { formProblem } from './document-form.js'
import { knownExtensions } from './extensions.js'
import { filesOf, type ReadText, UnreadFile } from './file-text.js'
import {
  mapMembers,
  type Nesting,
  nestingIn,
  outermost,
  pathItemFields,
  referenceFields,
} from './keywords.js'
import { resolvePointer } from './pointer.js'
import { nodeOf } from './reader.js'
import { isOpenApi30, refAsAllOf } from './upgrade.js'

/** A document, bundled. */
export interface Source {
  readonly document: object
  /** The YAML as written; if the document has several files, that of the bundle. */
  readonly text: string
  /** The files it was read from. */
  readonly files: readonly string[]
  /**
   * The location of a part, as `openapi.yaml:12:7`; a part of another file gets the location of the `$ref` to
   * it.
   */
  locate(pointer: Pointer): string
}

/**
 * Reads a document and the files it refers to. URLs are not fetched, because startup must not depend on them.
 * @param extensions those of the document, other than the engine's, in which a `$ref` is followed
 * @throws {ContractError} with each file that cannot be read or parsed, and each `$ref` that does not resolve
 */
export async function readSource(
  file: string,
  readText: ReadText = filesOf(file),
  extensions: readonly string[] = [],
): Promise<Source> {
  const texts = new Map<string, string>()
  const unread = new Map<string, string>()
  const textOf = async (name: string) => {
    const text = texts.get(name) ?? (await readText(name).catch((error) => noteUnread(unread, name, error)))
    texts.set(name, text)
    return text
  }
  const place = createPlace(texts)
  const known = knownExtensions(extensions)
  const root = await textOf(path.resolve(file))
    .then(parseText)
    .catch(() => undefined) // $RefParser reports why
  const isWhole = root !== undefined && isSelfContained(root, known)
  const document = isWhole
    ? root
    : await bundled(path.resolve(file), textOf, isOpenApi30(root), known).catch((error) => {
        throw new ContractError([...new Set(problems(error, file, place, unread))].join('\n'))
      })
  const [written = ''] = texts.values()
  return {
    document,
    text: texts.size > 1 ? textOfBundle(document) : written,
    files: [...texts.keys()],
    locate: (pointer) => place(path.resolve(file), pointer),
  }
}

function noteUnread(unread: Map<string, string>, file: string, error: Error): never {
  if (error instanceof UnreadFile) unread.set(file, error.message)
  throw error
}

function textOfBundle(document: object): string {
  return stringify(withDecisions(document).document, { aliasDuplicateObjects: false })
}

// The document of a file and those that it refers to.
async function bundled(
  file: string,
  textOf: ReadText,
  isOld: boolean,
  extensions: readonly string[],
): Promise<object> {
  const { $RefParser } = await import('@apidevtools/json-schema-ref-parser') // slow to load
  const foreign: unknown[] = []
  const setAside = (value: unknown) => mark + (foreign.push(value) - 1)
  const read = ({ url }: { readonly url: string }) =>
    textOf(toPath(url)).catch(() => Promise.reject(new Error(url)))
  const parse = ({ data }: { readonly data: unknown }) => {
    const value = parseText(String(data))
    // A file that contains only references is a map, whose names may start with x-.
    const isMap = Object.values(value).every((each) => typeof nodeOf(each).$ref === 'string')
    const resolves = (ref: string) => resolvePointer(value, ref) !== undefined
    const parsed = { setAside, isOld, extensions, resolves }
    return withoutForeign(value, parsed, { ...outermost, isMap })
  }
  const bundle = await new $RefParser().bundle(file, {
    // JSON is YAML, too.
    parse: { json: false, text: false, binary: false, yaml: { order: 1, canParse: true, parse } },
    resolve: { http: false, file: { order: 1, canRead: true, read } },
    continueOnError: true, // to report every problem
  })
  return completed(bundle, bundle, foreign) as object
}

// Whether every `$ref` resolves within the document. Any other document needs $RefParser, to bundle it or to
// report what is wrong.
function isSelfContained(document: object, extensions: readonly string[]): boolean {
  const known = new Set<string>()
  const resolves = (ref: string) => {
    if (!known.has(ref) && resolvePointer(document, ref) !== undefined) known.add(ref)
    return known.has(ref)
  }
  const isInside = (value: unknown, nesting: Nesting): boolean => {
    if (typeof value !== 'object' || value === null) return true
    if (nesting.isData && isPlainData(value, resolves)) return true
    return Object.entries(value).every(([key, each]) => {
      if (key === '$ref' && typeof each === 'string') return !nesting.isMap && resolves(each)
      return (
        isUnknownExtension(key, nesting, extensions) ||
        isInside(each, nestingWithin(nesting, key, Array.isArray(value), extensions))
      )
    })
  }
  return isInside(document, outermost)
}

// Unlike elsewhere, a known extension is no data here: a `$ref` in it is followed.
function nestingWithin(
  nesting: Nesting,
  key: string,
  isItem: boolean,
  extensions: readonly string[],
): Nesting {
  const inner = nestingIn(nesting, key, isItem)
  return !nesting.isMap && extensions.includes(key) ? { ...inner, isData: nesting.isData } : inner
}

// A `$ref` in an unknown extension may mean anything, so it is not followed.
function isUnknownExtension(key: string, { isMap }: Nesting, extensions: readonly string[]): boolean {
  return !isMap && key.startsWith('x-') && !extensions.includes(key)
}

// An example may contain a JSON Schema or a property called `$ref`: one that does not resolve, or is a URL,
// is data.
function isPlainData(value: object, resolves: (ref: string) => boolean): boolean {
  const { $ref } = value as { readonly $ref?: unknown }
  if (typeof $ref !== 'string') return false
  return $ref.startsWith('#') ? !resolves($ref) : isHttpUrl($ref)
}

function isHttpUrl(url: string): boolean {
  return /^https?:/.test(url)
}

function toPath(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : decodeURIComponent(url)
}

function parseText(text: string): object {
  checkUtf8(text)
  const isJson = /^\s*\{/.test(text) && !text.includes('__proto__')
  const value = (isJson ? parseJsonText(text) : undefined) ?? parseYaml(text)
  const problem = formProblem(value)
  if (problem === undefined) return value
  const { line, col } = createPosition(text)(problem.at) ?? { line: 1, col: 1 }
  throw atPlace(oneLine(problem.text), line, col)
}

// In the form of the YAML parser's own errors.
function atPlace(text: string, line: number, column: number): Error {
  return new Error(`${text} at line ${line}, column ${column}:`)
}

// Decoding replaces each byte that is not UTF-8 by U+FFFD.
function checkUtf8(text: string): void {
  const at = text.indexOf('\ufffd')
  if (at < 0) return
  const before = text.slice(0, at).split('\n')
  throw atPlace('the file is not UTF-8, or holds U+FFFD', before.length, (before.at(-1) ?? '').length + 1)
}

// About ten times as fast as the YAML parser, which reports syntax errors and duplicate keys better.
function parseJsonText(text: string): object | undefined {
  try {
    return parseLossless(text, undefined, { parseNumber }) as object // it starts with a brace
  } catch {
    return undefined
  }
}

// The YAML parser knows whether a number may be rounded.
function parseNumber(numeral: string): number | bigint {
  const value = exactNumber(numeral)
  if (typeof value === 'number' && !isKeptByDouble(numeral)) throw new RangeError(numeral)
  return value
}

function parseYaml(text: string): object {
  const lines = new LineCounter()
  const parsed = parseDocument(text, { intAsBigInt: true, merge: true, lineCounter: lines })
  const [error] = [...parsed.errors, ...parsed.warnings.filter(({ code }) => code === 'TAG_RESOLVE_FAILED')]
  if (error) throw error
  const value: unknown = parsed.toJS({
    reviver: (_: unknown, each: unknown) => (typeof each === 'bigint' ? narrowed(each) : each),
  })
  if (typeof value !== 'object' || value === null) throw new Error('the file must contain a mapping')
  refuseOtherThanJson(parsed, lines)
  return value
}

// OpenAPI 3.1.1, section 4.3: a document in YAML contains what JSON can represent.
function refuseOtherThanJson(parsed: Document, lines: LineCounter): void {
  visit(parsed, {
    Node(place, each, around) {
      const { tag = '', source, value, range } = each as Scalar.Parsed // or a collection, without a source
      const isKnown = place === 'key' || typeof value !== 'number' || Number.isFinite(value)
      const isRounded = typeof value === 'number' && Number.isFinite(value) && !isKept(source)
      const keyword = isRounded ? exactKeywordIn(around) : undefined
      if (isKnown && jsonTags.test(tag) && keyword === undefined) return
      const { line, col } = lines.linePos(range?.[0] ?? 0)
      if (keyword !== undefined)
        throw atPlace(
          `${keyword} ${source} has more digits than a double keeps: it would be ${value}`,
          line,
          col,
        )
      const shown = tag.replace('tag:yaml.org,2002:', '!!')
      throw atPlace(isKnown ? `${shown} is no type of JSON` : `${source} is not a JSON number`, line, col)
    },
  })
}

// YAML also has `+1.5` and `5.`.
function isKept(numeral: string): boolean {
  return isKeptByDouble(numeral.replace(/^\+/, '').replace(/\.(?=$|e)/i, ''))
}

// Bounds may be rounded, and so may what is only documentation.
const exactKeywords = ['default', 'const', 'enum', 'multipleOf']

// The keyword that a value is in, by the nodes around it.
function exactKeywordIn(around: readonly unknown[]): string | undefined {
  let nesting = outermost
  for (const each of around) {
    if (isSeq(each)) nesting = nestingIn(nesting, '', true)
    if (!isPair(each)) continue
    const name = String(each.key)
    if (!nesting.isMap && !nesting.isData && exactKeywords.includes(name)) return name
    nesting = nestingIn(nesting, name)
  }
  return undefined
}

const jsonTags = /^(!?|tag:yaml\.org,2002:(null|bool|int|float|str|seq|map))$/

interface ParsedFile {
  /** Stores a value and returns its placeholder. */
  setAside(value: unknown): string
  /** OpenAPI 3.0, which ignores siblings of a `$ref`. */
  readonly isOld: boolean
  /** Those in which a `$ref` is followed. */
  readonly extensions: readonly string[]
  resolves(ref: string): boolean
}

// Replaces what $RefParser must not follow, unknown extensions and plain data with a `$ref`, by placeholders.
function withoutForeign(value: unknown, file: ParsedFile, nesting: Nesting): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { of, isMap, isData } = nesting
  if (isData && isPlainData(value, file.resolves)) return file.setAside(value)
  const part = isMap || isData ? value : withWrittenRefs(nodeOf(withSiblingsInAllOf(value, of, file.isOld)))
  return mapMembers(part, nesting, (each, _, key) => {
    if (isUnknownExtension(key, nesting, file.extensions)) return file.setAside(each)
    return withoutForeign(each, file, nestingWithin(nesting, key, Array.isArray(part), file.extensions))
  })
}

// $RefParser resolves the references of an external file in the wrong file if the `$ref` to it has siblings
// and is a target itself. At the top of a file, nothing distinguishes a schema, whose siblings count, from a
// response or a path item.
function withSiblingsInAllOf(value: object, of: string, isOld: boolean): object {
  const { $ref, summary: _, description: __, ...siblings } = nodeOf(value)
  const isUnknown = of === '' && Object.keys(siblings).length > 0
  if (typeof $ref !== 'string' || $ref.startsWith('#') || pathItemFields.has(of) || isUnknown) return value
  return refAsAllOf(nodeOf(value), isOld || referenceFields.has(of), of !== '')
}

// Puts back what was set aside, and replaces a `$ref` to a whole map, such as `properties`, by the map: in a
// map, `$ref` is a name like any other.
function completed(
  value: unknown,
  bundle: object,
  foreign: readonly unknown[],
  nesting = outermost,
): unknown {
  if (typeof value === 'string' && value.startsWith(mark)) return foreign[Number(value.slice(mark.length))]
  if (typeof value !== 'object' || value === null) return value
  const { $ref } = nesting.isMap ? nodeOf(value) : {}
  if (typeof $ref === 'string') return completed(resolvePointer(bundle, $ref), bundle, foreign, nesting)
  return mapMembers(value, nesting, (each, inner) => completed(each, bundle, foreign, inner))
}

// YAML cannot contain NUL.
const mark = '\0foreign '

function problems(error: unknown, file: string, place: Place, unread: ReadonlyMap<string, string>): string[] {
  const { errors = [error as JSONParserError] } = error as Partial<JSONParserErrorGroup>
  return errors.map((each) => {
    // A file that does not parse has no parts to locate: the parser's message has the line and column.
    const yaml = /^Error parsing (.*?): ([^\n]+?)(?: at line (\d+), column (\d+))?:?(?:\n|$)/.exec(
      each.message,
    )
    if (yaml) {
      const text = yaml[2]?.startsWith('Maximum call stack') ? 'an alias refers to its own anchor' : yaml[2]
      return `${[shown(yaml[1] ?? ''), yaml[3], yaml[4]].filter(Boolean).join(':')}: ${text}`
    }
    const source = toPath(each.source || path.resolve(file))
    return `${place(source, each.path ?? [])}: ${explain(each, unread)}`
  })
}

function explain(
  { code, message, targetRef }: JSONParserError & { readonly targetRef?: string },
  unread: ReadonlyMap<string, string>,
): string {
  if (code === 'EMISSINGPOINTER') return `cannot resolve $ref ${targetRef}`
  if (message === 'URI malformed') return 'a $ref is not a valid URL: write % as %25'
  const url = /^Error reading file "(.*)"/.exec(message)?.[1]
  if (url === undefined) return message.split('\n', 1)[0] ?? ''
  if (isHttpUrl(url)) return `$ref ${url} is a URL, which is not fetched: keep a copy next to the contract`
  const reason = unread.get(toPath(url))
  return reason === undefined
    ? `cannot read the file ${shown(toPath(url))}`
    : `${shown(toPath(url))} ${reason}`
}

/** A location: `openapi.yaml:12:7`, or the file alone if the part cannot be found. */
type Place = (file: string, at: Pointer) => string

// Parses each file for locations once, as YAML, which includes JSON.
function createPlace(texts: ReadonlyMap<string, string>): Place {
  const positions = new Map<string, Position>()
  return (file, at) => {
    const text = texts.get(file)
    if (text === undefined) return shown(file)
    const positionOf = positions.get(file) ?? createPosition(text)
    positions.set(file, positionOf)
    const { line, col } = positionOf(at) ?? {}
    return [shown(file), line, col].filter(Boolean).join(':')
  }
}

type Position = (at: Pointer) => { readonly line: number; readonly col: number } | undefined

function createPosition(text: string): Position {
  const lines = new LineCounter()
  const root = parseDocument(text, { lineCounter: lines }).contents
  return (at) => {
    const offset = offsetOf(root, at)
    return offset === undefined ? undefined : lines.linePos(offset)
  }
}

// The offset of a part, or of its key if it has one; if it does not exist, that of the innermost existing
// part around it.
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

function shown(file: string): string {
  return path.relative(process.cwd(), file)
}
