// Writes YAML that readers of YAML 1.1 (in Python, Java, Ruby, PHP and Go) and of YAML 1.2 read alike.

import {
  type CreateNodeOptions,
  Document,
  type DocumentOptions,
  parseDocument,
  Scalar,
  type ScalarTag,
  type SchemaOptions,
  type Tags,
  type ToStringOptions,
  visit,
} from 'yaml'
import { nameUnmerged } from './yaml-merges.js'

// Matches a word, a path or a version. A text that begins otherwise may be read as a number, a date, a time,
// `=` or `<<`, or as Ruby's `:symbol` for one of them.
const bareText = /^(?:[\p{L}/$_(]|\d+\.\d+\.\d)/u
const words = /^(?:y|n|yes|no|on|off|true|false|null|e[-+]?\d+)$/i

// A text that matches is written in quotes.
const mayBeOther: ScalarTag = {
  tag: 'tag:yaml.org,2002:other',
  default: true,
  // The library calls nothing but `test`.
  test: { test: (text: string) => !bareText.test(text) || words.test(text) } as RegExp,
  resolve: (text) => text,
}

// YAML 1.1 ends a line at some of these characters, and forbids the others: they are escaped, in double
// quotes.
const unprintable = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/
const eachUnprintable = new RegExp(unprintable, 'g')
// No reader accepts these without quotes. A tab is allowed in a text of several lines.
const control = /[^\P{Cc}\t\n]|^[^\n]*\t[^\n]*$/u

const options: DocumentOptions & SchemaOptions & CreateNodeOptions = {
  compat: [mayBeOther],
  customTags: (tags) => tags.map(withPoint),
  aliasDuplicateObjects: false,
}

// YAML 1.1 reads `1e+21` as a string.
function withPoint(tag: Tags[number]): Tags[number] {
  if (typeof tag === 'string' || !/:(?:int|float)$/.test(tag.tag) || !('test' in tag)) return tag
  const { stringify } = tag
  if (stringify === undefined) return tag
  return { ...tag, stringify: (...args) => stringify(...args).replace(/^(-?\d+)e/, '$1.0e') }
}

// A folded string in double quotes would lose a line of blanks.
const inOneLine = { doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER }

/** Returns the YAML of a value, without aliases. */
export function toYaml(value: unknown, form: ToStringOptions): string {
  return written(new Document(value, options), form)
}

/**
 * Parses a YAML text to a document that `written` leaves as it is, except for quotes and the notation of
 * numbers.
 */
export function toDocument(text: string): Document.Parsed {
  const document = parseDocument(text, { ...options, intAsBigInt: true, merge: true })
  nameUnmerged(document)
  const { schema } = document
  schema.tags = schema.tags.map((tag) => (tag.default === 'key' ? { ...tag, identify: isMerge } : tag))
  return document
}

// The parser turns a merge into a symbol. The library also takes the string `<<` for one.
function isMerge(value: unknown): boolean {
  return typeof value === 'symbol'
}

/** Returns the text of a document that was made here. @throws {Error} if an alias has lost its anchor */
export function written(document: Document | Document.Parsed, form: ToStringOptions): string {
  visit(document, { Scalar: (_, node) => forBoth(node) })
  return document.toString({ ...form, ...inOneLine }).replace(eachUnprintable, escaped)
}

function forBoth(node: Scalar): void {
  delete node.format // YAML 1.1 reads 0o17 and 1e3 as strings
  const { value } = node
  if (typeof value !== 'string') return
  if (value === '<<' || unprintable.test(value) || control.test(value)) node.type = Scalar.QUOTE_DOUBLE
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
