// The contract's files as one document: openapi.yaml, and whatever it refers to in files beside it.

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { $RefParser, type JSONParserError, JSONParserErrorGroup } from '@apidevtools/json-schema-ref-parser'
import * as jsonc from 'jsonc-parser'
import { parse as parseLossless } from 'lossless-json'
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, stringify, visit } from 'yaml'
import { exactNumber, narrowed } from '../lib/exact-number.js'
import { ContractError, type Pointer } from './contract-error.js'
import { knownExtensions } from './extensions.js'
import { lookUp } from './pointer.js'
import { nodeOf } from './reader.js'
import { dataKeywords, isItem, isOldDialect, mapKeywords, referring, withSiblings } from './upgrade.js'

/** The document, in one piece. */
export interface Source {
  readonly document: object
  /** As YAML: as it was written, unless parts of it came from other files. */
  readonly text: string
  /** The files that it came from. */
  readonly files: readonly string[]
  /** Where a part of it stands, as `openapi.yaml:12:7`; what stands in another file, where that is referred to. */
  locate(pointer: Pointer): string
}

/** Reads a file as text, by its path. */
export type ReadText = (file: string) => Promise<string>

/**
 * Reads a document with all that it refers to. Addresses are not followed: a start must not depend on them.
 * @throws {ContractError} naming each file that is missing or not YAML, and each `$ref` that leads nowhere
 */
export async function readSource(
  file: string,
  readText: ReadText = (name) => readFile(name, 'utf8'),
): Promise<Source> {
  const texts = new Map<string, string>()
  const textOf = async (name: string) => {
    const text = texts.get(name) ?? (await readText(name))
    texts.set(name, text)
    return text
  }
  const read = ({ url }: { readonly url: string }) =>
    textOf(toPath(url)).catch(() => Promise.reject(new Error(url)))
  const place = createPlace(texts)
  const locate = (pointer: Pointer) => place(path.resolve(file), pointer)
  const root = await textOf(path.resolve(file))
    .then(parseText)
    .catch(() => undefined) // the parser of references tells why
  const [written = ''] = texts.values()
  if (root !== undefined && isWhole(root))
    return { document: root, text: written, files: [...texts.keys()], locate }
  const isOld = isOldDialect(root)
  const extensions: unknown[] = []
  const parse = ({ data }: { readonly data: unknown }) => {
    const value = parseText(String(data))
    // A file of nothing but references is a map, in which a name may begin with x-, too.
    const isMap = Object.values(value).every((each) => typeof nodeOf(each).$ref === 'string')
    const whole = { extensions, isOld, leads: (ref: string) => lookUp(value, ref) !== undefined }
    return setAside(value, whole, { isMap, isData: false, of: '' })
  }
  const options = {
    // JSON is YAML, too.
    parse: { json: false, text: false, binary: false, yaml: { order: 1, canParse: true, parse } },
    resolve: { http: false, file: { order: 1, canRead: true, read } },
    continueOnError: true, // so that every problem is named
  }
  try {
    const joined = putBack(await new $RefParser().bundle(path.resolve(file), options), extensions) as object
    const document = withMaps(joined, joined) as object
    const isSplit = texts.size > 1
    return { document, text: isSplit ? stringify(document) : written, files: [...texts.keys()], locate }
  } catch (error) {
    throw new ContractError([...new Set(problems(error, file, place))].join('\n'))
  }
}

// A document whose every reference leads to a part of its own is in one piece; any other is for the parser of references to
// join, or to tell what is wrong with it.
function isWhole(document: object): boolean {
  const known = new Set<string>()
  const leads = (ref: string) => {
    if (!known.has(ref) && lookUp(document, ref) !== undefined) known.add(ref)
    return known.has(ref)
  }
  const isInside = (value: unknown, isMap = false, isData = false): boolean => {
    if (typeof value !== 'object' || value === null) return true
    if (Array.isArray(value)) return value.every((each) => isInside(each, false, isData))
    if (isData && isPlainData(value, leads)) return true
    return Object.entries(value).every(([key, each]) => {
      if (key === '$ref' && typeof each === 'string') return !isMap && leads(each)
      if (isForeign(key, isMap)) return true
      return isInside(each, !isMap && !isData && mapKeywords.has(key), isData || isDataOf(key, isMap))
    })
  }
  return isInside(document)
}

// What a `$ref` means in an extension is its maker's to say: in one that the server does not know, it is not followed.
function isForeign(key: string, isMap: boolean): boolean {
  return !isMap && key.startsWith('x-') && !knownExtensions.includes(key)
}

function isDataOf(key: string, isMap: boolean): boolean {
  return !isMap && dataKeywords.has(key)
}

// In an example may be a whole schema, or a field of that name: what looks like a reference and leads nowhere, or to an address, is one
// of its texts.
function isPlainData(value: object, leads: (ref: string) => boolean): boolean {
  const { $ref } = value as { readonly $ref?: unknown }
  if (typeof $ref !== 'string') return false
  return $ref.startsWith('#') ? !leads($ref) : isAddress($ref)
}

function isAddress(url: string): boolean {
  return /^https?:/.test(url)
}

function toPath(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : decodeURI(url)
}

function parseText(text: string): object {
  checkUtf8(text)
  const isJson = looksLikeJson(text) && !text.includes('__proto__')
  return (isJson ? parseJsonText(text) : undefined) ?? parseYaml(text)
}

// Whatever reads a file puts U+FFFD in the place of bytes that are no UTF-8.
function checkUtf8(text: string): void {
  const at = text.indexOf('\ufffd')
  if (at < 0) return
  const before = text.slice(0, at).split('\n')
  throw new Error(
    `the file is not UTF-8, or holds U+FFFD at line ${before.length}, column ${(before.at(-1) ?? '').length + 1}:`,
  )
}

function looksLikeJson(text: string): boolean {
  return /^\s*\{/.test(text)
}

// Some ten times as fast as YAML, which tells better what is wrong with what is no JSON, or has a name twice.
function parseJsonText(text: string): object | undefined {
  try {
    return parseLossless(text, undefined, { parseNumber: exactNumber }) as object // for it begins with a brace
  } catch {
    return undefined
  }
}

function parseYaml(text: string): object {
  const parsed = parseDocument(text, { intAsBigInt: true, merge: true })
  const [error] = parsed.errors
  if (error) throw error
  let isJson = true
  const reviver = (_: unknown, each: unknown) => {
    if (typeof each === 'number' && !Number.isFinite(each)) isJson = false
    return typeof each === 'bigint' ? narrowed(each) : each
  }
  const value: unknown = parsed.toJS({ reviver })
  if (typeof value !== 'object' || value === null) throw new Error('it holds no document')
  if (!isJson) throw notFinite(text)
  return value
}

// OpenAPI 3.1.1, section 4.3: YAML is for what JSON can say, too. In the words of the YAML parser, which tell the place.
function notFinite(text: string): Error {
  const lines = new LineCounter()
  let message = 'a number is not one of JSON'
  visit(parseDocument(text, { lineCounter: lines }), {
    Scalar(_, { value, source, range }) {
      if (typeof value !== 'number' || Number.isFinite(value)) return undefined
      const { line, col } = lines.linePos(range?.[0] ?? 0)
      message = `${source} is no number of JSON at line ${line}, column ${col}:`
      return visit.BREAK
    },
  })
  return new Error(message)
}

interface Whole {
  readonly extensions: unknown[]
  /** OpenAPI 3.0: beside a `$ref`, nothing counts. */
  readonly isOld: boolean
  leads(ref: string): boolean
}

/** Where a part stands: among names, in data, and below which keyword. */
interface Surroundings {
  readonly isMap: boolean
  readonly isData: boolean
  readonly of: string
}

function setAside(value: unknown, whole: Whole, { isMap, isData, of }: Surroundings): unknown {
  const aside = (each: unknown) => mark + (whole.extensions.push(each) - 1)
  if (isData && typeof value === 'object' && value !== null && isPlainData(value, whole.leads))
    return aside(value)
  const part = isMap || isData ? value : withinReference(value, of, whole.isOld)
  return mapped(part, (each, key) => {
    if (isForeign(key, isMap)) return aside(each)
    return setAside(each, whole, {
      isMap: !isMap && !isData && mapKeywords.has(key),
      isData: isData || isDataOf(key, isMap),
      of: isMap || Array.isArray(part) ? of : key,
    })
  })
}

// What refers to another file, and is referred to itself, must have nothing beside its `$ref`: the parser looks for what that file
// refers to in this one. At the top of a file nothing tells a schema, which may have, from an answer or a path.
function withinReference(value: unknown, of: string, isOld: boolean): unknown {
  const { $ref, summary: _, description: __, ...siblings } = nodeOf(value)
  const isUnknown = of === '' && Object.keys(siblings).length > 0
  if (typeof $ref !== 'string' || $ref.startsWith('#') || isItem(of) || isUnknown) return value
  return withSiblings(nodeOf(value), isOld || referring.includes(of), of !== '')
}

function putBack(value: unknown, extensions: readonly unknown[]): unknown {
  if (extensions.length === 0) return value
  if (typeof value === 'string' && value.startsWith(mark)) return extensions[Number(value.slice(mark.length))]
  return mapped(value, (each) => putBack(each, extensions))
}

// Whole maps, such as `properties`, in the place of a `$ref` to one: where names stand, it would be one of them.
function withMaps(value: unknown, document: object, isMap = false): unknown {
  const { $ref } = isMap ? nodeOf(value) : {}
  if (typeof $ref === 'string') return withMaps(lookUp(document, $ref), document, true)
  return mapped(value, (each, key) => {
    if (!isMap && (dataKeywords.has(key) || isForeign(key, isMap))) return each
    return withMaps(each, document, !isMap && mapKeywords.has(key))
  })
}

// No YAML holds a NUL.
const mark = '\0extension '

function mapped(value: unknown, map: (each: unknown, key: string) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((each) => map(each, ''))
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, map(each, key)]))
}

function problems(error: unknown, file: string, place: Place): string[] {
  const errors = error instanceof JSONParserErrorGroup ? error.errors : [error as JSONParserError]
  return errors.map((each) => {
    // What a file that does not parse holds cannot be located by its paths.
    const yaml = /^Error parsing (.*?): ([^\n]+?)(?: at line (\d+), column (\d+))?:?(?:\n|$)/.exec(
      each.message,
    )
    if (yaml) {
      const text = yaml[2]?.startsWith('Maximum call stack')
        ? 'an alias leads back to its own anchor'
        : yaml[2]
      return `${[shown(yaml[1] ?? ''), yaml[3], yaml[4]].filter(Boolean).join(':')}: ${text}`
    }
    const source = toPath(each.source || path.resolve(file))
    return `${place(source, each.path ?? [])}: ${explain(each)}`
  })
}

function explain({ code, message, targetRef }: JSONParserError & { readonly targetRef?: string }): string {
  if (code === 'EMISSINGPOINTER') return `$ref ${targetRef} leads nowhere`
  if (message === 'URI malformed') return 'a $ref is no URL: a % in it is written %25'
  const url = /^Error reading file "(.*)"/.exec(message)?.[1]
  if (url === undefined) return message.split('\n', 1)[0] ?? ''
  if (isAddress(url)) return `$ref ${url} is an address: keep a copy beside the contract`
  return `there is no file ${shown(toPath(url))} to be read`
}

/** `openapi.yaml:12:7`, as far as it can be told. */
type Place = (file: string, at: Pointer) => string

// Each file is read once for all that is asked of it.
function createPlace(texts: ReadonlyMap<string, string>): Place {
  const read = new Map<string, Located>()
  return (file, at) => {
    const text = texts.get(file)
    if (text === undefined) return shown(file)
    const { root, lines } = read.get(file) ?? locatable(text)
    read.set(file, { root, lines })
    const offset = offsetOf(root, at)
    if (offset === undefined) return shown(file)
    const { line, col } = lines.linePos(offset)
    return `${shown(file)}:${line}:${col}`
  }
}

/** A text whose parts know where they stand. */
interface Located {
  readonly root: Part
  readonly lines: LineCounter
}

/** A part of a text: where it begins, with its name if it has one, and the part of it that a key leads to. */
interface Part {
  readonly offset: number | undefined
  child(key: string): Part | undefined
}

// JSON is YAML, too, but takes an eighth of the time as what it is.
function locatable(text: string): Located {
  const lines = new LineCounter()
  const faults: jsonc.ParseError[] = []
  const tree = looksLikeJson(text) ? jsonc.parseTree(text, faults) : undefined
  if (tree === undefined || faults.length > 0) {
    return { root: yamlPart(parseDocument(text, { lineCounter: lines }).contents), lines }
  }
  for (const { index } of text.matchAll(/^|(?<=\n)/g)) lines.addNewLine(index)
  return { root: jsonPart(tree), lines }
}

function yamlPart(node: unknown, name?: unknown): Part {
  const start = isNode(name) ? name : isNode(node) ? node : undefined
  const child = (key: string) => {
    if (isSeq(node)) return yamlPart(node.items[Number(key)])
    const pair =
      isMap(node) && node.items.find((each) => isScalar(each.key) && String(each.key.value) === key)
    return pair ? yamlPart(pair.value, pair.key) : undefined
  }
  return { offset: start?.range?.[0], child }
}

function jsonPart(node: jsonc.Node | undefined, name = node): Part {
  const child = (key: string) => {
    if (node?.type === 'array') return jsonPart(node.children?.[Number(key)])
    const field = node?.children?.find((each) => each.children?.[0]?.value === key)?.children
    return field && jsonPart(field[1], field[0])
  }
  return { offset: name?.offset, child }
}

// Of what is not there, where the innermost part around it stands.
function offsetOf(root: Part, at: Pointer): number | undefined {
  let offset: number | undefined
  let part: Part | undefined = root
  for (const key of at) {
    part = part?.child(String(key))
    offset = part?.offset ?? offset
  }
  return offset
}

function shown(file: string): string {
  return path.relative(process.cwd(), file)
}
