// Writes YAML that readers of YAML 1.1 (in Python, Java, Ruby, PHP and Go) and of 1.2 read alike.

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

// A word, a path, a version. What begins otherwise may be a number, a date, a time, `=`, `<<`, or Ruby's
// `:symbol` to one of them.
const bareText = /^(?:[\p{L}/$_(]|\d+\.\d+\.\d)/u
const words = /^(?:y|n|yes|no|on|off|true|false|null|e[-+]?\d+)$/i

// A text that it matches is written in quotes.
const mayBeOther: ScalarTag = {
  tag: 'tag:yaml.org,2002:other',
  default: true,
  // All that is asked of it.
  test: { test: (text: string) => !bareText.test(text) || words.test(text) } as RegExp,
  resolve: (text) => text,
}

// 1.1 ends a line at some of these, and allows none of the others: they are escaped, in double quotes.
const unprintable = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/
const eachUnprintable = new RegExp(unprintable, 'g')
// No reader takes these bare. In a text of several lines, a tab may stand.
const control = /[^\P{Cc}\t\n]|^[^\n]*\t[^\n]*$/u

const options: DocumentOptions & SchemaOptions & CreateNodeOptions = {
  compat: [mayBeOther],
  customTags: (tags) => tags.map(withPoint),
  aliasDuplicateObjects: false,
}

// In 1.1 `1e+21` is a text.
function withPoint(tag: Tags[number]): Tags[number] {
  if (typeof tag === 'string' || !/:(?:int|float)$/.test(tag.tag) || !('test' in tag)) return tag
  const { stringify } = tag
  if (stringify === undefined) return tag
  return { ...tag, stringify: (...args) => stringify(...args).replace(/^(-?\d+)e/, '$1.0e') }
}

// Folded, a text in double quotes loses a line of blanks.
const inOneLine = { doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER }

/** The YAML of a value, without aliases. */
export function toYaml(value: unknown, form: ToStringOptions): string {
  return written(new Document(value, options), form)
}

/** A document of YAML that `written` writes as it is but for quotes and the notation of numbers. */
export function toDocument(text: string): Document.Parsed {
  const document = parseDocument(text, { ...options, intAsBigInt: true, merge: true })
  nameUnmerged(document)
  const { schema } = document
  schema.tags = schema.tags.map((tag) => (tag.default === 'key' ? { ...tag, identify: isMerge } : tag))
  return document
}

// A merge is a symbol once it is read. The library takes the text `<<` for one as well.
function isMerge(value: unknown): boolean {
  return typeof value === 'symbol'
}

/** The text of a document that has been made here. @throws {Error} if an alias has lost its anchor */
export function written(document: Document | Document.Parsed, form: ToStringOptions): string {
  visit(document, { Scalar: (_, node) => forBoth(node) })
  return document.toString({ ...form, ...inOneLine }).replace(eachUnprintable, escaped)
}

function forBoth(node: Scalar): void {
  delete node.format // 0o17 and 1e3 are texts in 1.1
  const { value } = node
  if (typeof value !== 'string') return
  if (value === '<<' || unprintable.test(value) || control.test(value)) node.type = Scalar.QUOTE_DOUBLE
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
