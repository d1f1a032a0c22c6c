// Reads the contract's files: openapi.yaml and the files that it refers to, bundled into one document, with
// the location of each part.

import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { JSONParserError, JSONParserErrorGroup } from '@apidevtools/json-schema-ref-parser'
import { ContractError, type Pointer } from '../../document/contract-error.js'
import { filesOf, type ReadText, UnreadFile } from '../../document/file-text.js'
import { pointerKeys, resolvePointer } from '../../document/pointer.js'
import { type Node, nodeOf } from '../../document/reader.js'
import { isOpenApi30 } from '../../document/versions.js'
import {
  isExtensionIn,
  type Place,
  pathItemFields,
  referenceFields,
  type Visit,
  walk,
  wholeDocument,
} from '../../document/walk.js'
import { oneLine } from '../../lib/texts.js'
import { knownExtensions } from '../contract/extensions.js'
import { withDecisions } from './decided.js'
import { withWrittenRefs } from './discriminator.js'
import { misshapenIn, refProblems, textProblems } from './document-form.js'
import { createPosition, type Position, parseDocumentText, parseText } from './file-value.js'
import { hintAt } from './meant-ref.js'
import { withSchemeNames } from './scheme-names.js'
import { withOwnRefs } from './self.js'
import { refAsAllOf } from './upgrade.js'
import { toYaml } from './yaml-text.js'

/** A document, bundled. */
export interface Source {
  readonly document: object
  /** The YAML as written; if the document has several files, the YAML of the bundle. */
  readonly text: string
  /** The files that were read. */
  readonly files: readonly string[]
  /**
   * Returns the location of a part, as `openapi.yaml:12:7`. A part of another file has the location of the
   * `$ref` to it.
   */
  locate(pointer: Pointer): string
}

/**
 * Reads a document and the files that it refers to. URLs are not fetched, because startup must not depend on
 * them.
 * @param extensions the document's extensions, other than the engine's, in which a `$ref` is followed
 * @throws {ContractError} with each file that cannot be read or parsed, and each `$ref` that does not resolve
 */
export async function readSource(
  file: string,
  readText: ReadText = filesOf(file),
  extensions: readonly string[] = [],
): Promise<Source> {
  if (isHttpUrl(file)) throw new ContractError(`${file} is a URL, which is not fetched: save it as a file`)
  const texts = new Map<string, string>()
  const unread = new Map<string, string>()
  const values = new Map<string, object>()
  const textOfFile = async (name: string) => {
    const text = texts.get(name) ?? (await readText(name).catch((error) => noteUnread(unread, name, error)))
    texts.set(name, text)
    return text
  }
  const place = createPlace(texts)
  const known = knownExtensions(extensions)
  const root = await textOfFile(path.resolve(file))
    .then((text) => rootOf(text))
    .catch(() => undefined) // $RefParser reports why
  const isWhole = root !== undefined && isSelfContained(root, known)
  const document = isWhole
    ? root
    : await bundled(path.resolve(file), textOfFile, isOpenApi30(root), known, { values, place }).catch(
        (error) => {
          if (error instanceof ContractError) throw error
          const hint = hintOf(texts)
          const lines = problems(error, file, { values, place, unread }).map((line) =>
            isAboutRef(line) ? line + hint : line,
          )
          throw new ContractError([...new Set(lines)].join('\n'))
        },
      )
  const [written = ''] = texts.values()
  return {
    document,
    get text() {
      // writing the YAML takes as long as reading the files
      return texts.size > 1 ? textOfBundle(document) : written
    },
    files: [...texts.keys()],
    locate: (pointer) => place(path.resolve(file), pointer),
  }
}

/**
 * Returns a function that finds parts of a document as the `locate` of its source does, from the text of the
 * document's file alone.
 */
export async function createLocate(
  file: string,
  readText: ReadText = filesOf(file),
): Promise<Source['locate']> {
  const name = path.resolve(file)
  const text = await readText(name).catch(() => undefined) // the file may be gone by now
  const place = createPlace(new Map(text === undefined ? [] : [[name, text]]))
  return (pointer) => place(name, pointer)
}

// By JSON Schema, `$id` would be the base of the `$ref`s in it and a target for others; the engine supports
// neither, so an unresolved `$ref` gets a hint.
function hintOf(texts: ReadonlyMap<string, string>): string {
  return [...texts.values()].some((text) => hasId(parsedValue(text)))
    ? ' ($id is neither a base nor a target of $refs: write one as the path of a file and #/…)'
    : ''
}

function hasId(document: object): boolean {
  let isFound = false
  walk(document, (value, place, within) => {
    isFound ||= !place.isMap && typeof nodeOf(value).$id === 'string'
    return isFound ? value : within(value, place)
  })
  return isFound
}

// If a file does not parse, the parser's own error is reported instead.
function parsedValue(text: string): object {
  try {
    return parseText(text)
  } catch {
    return {}
  }
}

function isAboutRef(line: string): boolean {
  return ['cannot resolve $ref', 'cannot read the file', 'which is not fetched'].some((text) =>
    line.includes(text),
  )
}

function noteUnread(unread: Map<string, string>, file: string, error: Error): never {
  if (error instanceof UnreadFile) unread.set(file, error.message)
  throw error
}

function textOfBundle(document: object): string {
  return toYaml(withDecisions(document).document, {})
}

// Returns the document of a file, with the files that it refers to bundled into it.
async function bundled(
  file: string,
  textOfFile: ReadText,
  isOld: boolean,
  extensions: readonly string[],
  { values, place }: Pick<Read, 'values' | 'place'>,
): Promise<object> {
  const { $RefParser } = await import('@apidevtools/json-schema-ref-parser') // slow to load
  const foreign: unknown[] = []
  const setAside = (value: unknown) => mark + (foreign.push(value) - 1)
  const read = ({ url }: { readonly url: string }) =>
    textOfFile(toPath(url)).catch(() => Promise.reject(new Error(url)))
  const unparsed = new Set<string>()
  const parse = async ({ url, data }: { readonly url: string; readonly data: unknown }) => {
    const name = toPath(url)
    unparsed.add(name)
    const value = name === file ? rootOf(String(data)) : withOwnRefs(parseText(String(data)))
    values.set(name, value)
    unparsed.delete(name)
    // A file with nothing but references is a map, so names that start with x- are no extensions.
    const isMap = Object.values(value).every((each) => typeof nodeOf(each).$ref === 'string')
    const whole = { ...wholeDocument, isMap, extensions }
    const resolves = (ref: string) => resolvePointer(value, ref) !== undefined
    const unread = await unreadRefs(refsInData(value, whole), name, textOfFile)
    const isPlain = (ref: string) => unread.has(ref) || isPlainRef(ref, resolves)
    return withoutForeign(value, { setAside, isOld, isPlain }, whole)
  }
  const bundling = new $RefParser().bundle(file, {
    // JSON is YAML, too.
    parse: { json: false, text: false, binary: false, yaml: { order: 1, canParse: true, parse } },
    resolve: { http: false, file: { order: 1, canRead: true, read } },
    continueOnError: true, // to report every problem
  })
  const bundle = await bundling.catch((error) => {
    checkTexts(values, unparsed, place)
    throw error
  })
  checkAnchors(values, place)
  checkShape(values, file, place)
  return completed(bundle, foreign)
}

function rootOf(text: string): object {
  return withSchemeNames(withOwnRefs(parseDocumentText(text)))
}

// If a `$ref` leads to a file of Markdown, the YAML parser would report a line of that file which is right.
function checkTexts(values: ReadonlyMap<string, object>, unparsed: ReadonlySet<string>, place: Locate): void {
  const lines = [...values].flatMap(([file, value]) =>
    textProblems(value, (ref) => unparsed.has(fileOf(ref, file))).map(
      ({ text, at }) => `${place(file, at)}: ${oneLine(text)}`,
    ),
  )
  if (lines.length > 0) throw new ContractError(lines.join('\n'))
}

// $RefParser leaves references to anchors as they are.
function checkAnchors(values: Read['values'], place: Locate): void {
  const isAnchor = () => (ref: string) => /^#[^/]/.test(ref)
  const lines = refLines(values, place, isAnchor, (file, ref) => hintAt(values.get(file), ref))
  if (lines.length > 0) throw new ContractError(lines.join('\n'))
}

function checkShape(values: ReadonlyMap<string, object>, file: string, place: Locate): void {
  const targetOf = (from: string, ref: string) => {
    const [, pointer = ''] = ref.split('#', 2)
    return [fileOf(ref, from), pointerKeys(pointer) ?? []] as const
  }
  const found = misshapenIn(values, file, targetOf)
  const lines = found.map(({ file, at, text }) => {
    return `${place(file, at)}${at.length === 0 ? ':1:1' : ''}: ${oneLine(text)}`
  })
  if (lines.length > 0) throw new ContractError([...new Set(lines)].join('\n'))
}

// True if every `$ref` resolves within the document. Any other document needs $RefParser, which bundles it or
// reports what is wrong.
function isSelfContained(document: object, extensions: readonly string[]): boolean {
  const known = new Set<string>()
  const resolves = (ref: string) => {
    if (!known.has(ref) && resolvePointer(document, ref) !== undefined) known.add(ref)
    return known.has(ref)
  }
  let isWhole = true
  walk(
    document,
    (value, place, within) => {
      const { $ref } = nodeOf(value)
      const isSkipped =
        isUnknownExtension(place) || isPlainData(nodeOf(value), place, (ref) => isPlainRef(ref, resolves))
      if (isSkipped) return value
      isWhole &&= typeof $ref !== 'string' || (!place.isMap && resolves($ref))
      return isWhole ? within(value, place) : value
    },
    { place: { ...wholeDocument, extensions }, entersData: true },
  )
  return isWhole
}

// A `$ref` in an unknown extension may mean anything, so it is not followed.
function isUnknownExtension({ key, around, extensions }: Place): boolean {
  const name = String(key)
  return around !== undefined && isExtensionIn(around, name) && !extensions.includes(name)
}

// An example may contain a JSON Schema, or a property called `$ref`: a `$ref` there that does not resolve, or
// is a URL, is data.
function isPlainData({ $ref }: Node, { of, isData }: Place, isPlain: (ref: string) => boolean): boolean {
  return typeof $ref === 'string' && (isData || of === 'examples') && isPlain($ref)
}

function isPlainRef(ref: string, resolves: (ref: string) => boolean): boolean {
  return ref.startsWith('#') ? !resolves(ref) : isHttpUrl(ref)
}

function refsInData(file: object, whole: Place): string[] {
  const found: string[] = []
  walk(
    file,
    (value, place, within) => {
      if (isUnknownExtension(place)) return value
      const { $ref } = nodeOf(value)
      if (place.isData && typeof $ref === 'string') found.push($ref)
      return within(value, place)
    },
    { place: whole, entersData: true },
  )
  return found
}

// Returns the references that name no file, as in MongoDB's `{ $ref: users, $id: 7 }`.
async function unreadRefs(refs: readonly string[], from: string, textOfFile: ReadText): Promise<Set<string>> {
  const unread = new Set<string>()
  for (const ref of refs.filter((each) => !each.startsWith('#') && !isHttpUrl(each))) {
    try {
      await textOfFile(fileOf(ref, from))
    } catch (error) {
      if (!(error instanceof UnreadFile)) unread.add(ref)
    }
  }
  return unread
}

function fileOf(ref: string, from: string): string {
  const [name = ''] = ref.split('#', 1)
  return name === '' ? from : path.resolve(path.dirname(from), toPath(name))
}

function isHttpUrl(url: string): boolean {
  return /^https?:/.test(url)
}

function toPath(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : decodeURIComponent(url)
}

interface ParsedFile {
  /** Stores a value and returns its placeholder. */
  setAside(value: unknown): string
  /** True for OpenAPI 3.0, which ignores siblings of a `$ref`. */
  readonly isOld: boolean
  /** True if a `$ref` in data is data, too. */
  isPlain(ref: string): boolean
}

// Puts placeholders where $RefParser must not follow a `$ref`: in unknown extensions, and in plain data.
function withoutForeign(file: object, { setAside, isOld, isPlain }: ParsedFile, whole: Place): unknown {
  const other = (value: unknown, place: Place) => (isUnknownExtension(place) ? setAside(value) : value)
  return walk(
    file,
    (value, place, within) => {
      if (isUnknownExtension(place) || isPlainData(nodeOf(value), place, isPlain)) return setAside(value)
      const own = Array.isArray(value) ? [...value] : { ...value } // a copy: $RefParser changes what it gets
      if (place.isMap || place.isData) return within(own, place)
      return within(withWrittenRefs(nodeOf(withSiblingsInAllOf(own, place.of, isOld))), place)
    },
    { place: whole, entersData: true, other },
  )
}

// $RefParser resolves the references of an external file in the wrong file if the `$ref` to that file has
// siblings and is a target itself. At the top of a file, a schema, whose siblings count, cannot be told from
// a response or a path item, so such a `$ref` is left.
function withSiblingsInAllOf(value: object, of: string, isOld: boolean): object {
  const { $ref, summary: _, description: __, ...siblings } = nodeOf(value)
  const isUnknown = of === '' && Object.keys(siblings).length > 0
  if (typeof $ref !== 'string' || $ref.startsWith('#') || pathItemFields.has(of) || isUnknown) return value
  return refAsAllOf(nodeOf(value), isOld || referenceFields.has(of), of !== '')
}

// Puts back what was set aside, and replaces a `$ref` by its target in two places where it is no reference in
// OpenAPI: in fields such as `servers`, and in maps such as `properties`, where `$ref` is a name like any
// other.
function completed(bundle: object, foreign: readonly unknown[]): object {
  const around = new Set<string>()
  const other = (value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? foreign[Number(value.slice(mark.length))] : value
  const visit: Visit = (value, place, within) => {
    const { $ref } = nodeOf(value)
    const isReplaced = !place.isData && (place.isMap || place.kind === undefined)
    if (!isReplaced || typeof $ref !== 'string' || around.has($ref)) return within(value, place)
    around.add($ref)
    const target = resolvePointer(bundle, $ref)
    const whole = typeof target === 'object' && target !== null ? visit(target, place, within) : other(target)
    around.delete($ref)
    return whole
  }
  return walk(bundle, visit, { entersData: true, other }) as object // an object stays an object
}

// YAML cannot contain NUL, so no text of a contract begins with the mark.
const mark = '\0foreign '

function problems(error: unknown, file: string, { values, place, unread }: Read): string[] {
  const { errors = [error as JSONParserError] } = error as Partial<JSONParserErrorGroup>
  return errors.flatMap((each) => {
    // A file that does not parse has no parts to locate: the parser's message has the line and column.
    const [, name, lines] = /^Error parsing (.*?): ([\s\S]+)$/.exec(each.message) ?? []
    if (name !== undefined && lines !== undefined)
      return lines.split('\n').flatMap((line, i) => {
        const [, text = '', ...at] = /^(.*?)(?: at line (\d+), column (\d+))?:?$/.exec(line) ?? []
        // this line is no further error, but the text with the error
        if (i > 0 && at[0] === undefined) return []
        const told = text.startsWith('Maximum call stack') ? 'an alias refers to its own anchor' : text
        return `${[shown(toPath(name)), ...at].filter(Boolean).join(':')}: ${told}`
      })
    if (each.message === 'URI malformed') return malformedRefs(values, place)
    // The place from the parser is not that of the `$ref`: it is the path by which the parser came, or in the
    // file that lacks the target.
    const lost = each.code === 'EMISSINGPOINTER' ? lostRefs(values, place) : []
    if (lost.length > 0) return lost
    const source = toPath(each.source || path.resolve(file))
    return `${place(source, each.path ?? [])}: ${explain(each, unread)}${fileHint(each, values)}`
  })
}

function malformedRefs(values: Read['values'], place: Locate): string[] {
  return refLines(
    values,
    place,
    () => (ref) => pointerKeys(ref) === undefined,
    () => ': it is not a valid URL: write % as %25',
  )
}

function refLines(
  values: Read['values'],
  place: Locate,
  isWrongIn: (file: string) => (ref: string) => boolean,
  hint: (file: string, ref: string) => string,
): string[] {
  return [...values].flatMap(([file, value]) =>
    refProblems(value, isWrongIn(file)).map(({ ref, at }) => {
      return `${place(file, at)}: ${oneLine(`cannot resolve $ref ${ref}${hint(file, ref)}`)}`
    }),
  )
}

function lostRefs(values: Read['values'], place: Locate): string[] {
  const targetOf = (file: string, ref: string) => values.get(fileOf(ref, file))
  const isLost = (file: string) => (ref: string) => {
    const [, pointer] = /(#.*)$/.exec(ref) ?? []
    const target = pointer === undefined || isHttpUrl(ref) ? undefined : targetOf(file, ref)
    return (
      target !== undefined &&
      !/^#\/?$/.test(String(pointer)) &&
      resolvePointer(target, String(pointer)) === undefined
    )
  }
  return refLines(values, place, isLost, (file, ref) => hintAt(targetOf(file, ref), ref))
}

// A `$ref` such as `components/schemas/Pet` or `Pet` names a file by mistake.
function fileHint({ message }: JSONParserError, values: Read['values']): string {
  const url = unreadUrl(message)
  if (url === undefined || isHttpUrl(url)) return ''
  const hints = [...values].flatMap(([file, value]) => {
    const found = refProblems(value, (ref) => !isHttpUrl(ref) && fileOf(ref, file) === toPath(url))
    return found.map(({ ref }) => hintAt(value, ref))
  })
  return hints.find((each) => each !== '') ?? ''
}

function unreadUrl(message: string): string | undefined {
  return /^Error reading file "(.*)"/.exec(message)?.[1]
}

function explain(
  { code, message, targetRef }: JSONParserError & { readonly targetRef?: string },
  unread: ReadonlyMap<string, string>,
): string {
  if (code === 'EMISSINGPOINTER') return `cannot resolve $ref ${targetRef}`
  const url = unreadUrl(message)
  if (url === undefined) return message.split('\n', 1)[0] ?? ''
  if (isHttpUrl(url)) return `$ref ${url} is a URL, which is not fetched: keep a copy next to the contract`
  const reason = unread.get(toPath(url))
  return reason === undefined
    ? `cannot read the file ${shown(toPath(url))}`
    : `${shown(toPath(url))} ${reason}`
}

/** What was read of a document. */
interface Read {
  /** The files that were parsed. */
  readonly values: Map<string, object>
  /** Why other files were not read. */
  readonly unread: ReadonlyMap<string, string>
  readonly place: Locate
}

/** Returns a location: `openapi.yaml:12:7`, or the file alone if the part cannot be found. */
type Locate = (file: string, at: Pointer) => string

// Parses each file once for its locations, as YAML, which includes JSON.
function createPlace(texts: ReadonlyMap<string, string>): Locate {
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

function shown(file: string): string {
  return path.relative(process.cwd(), file) || '.'
}
