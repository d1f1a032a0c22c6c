// Reads parameters that are written in a style: `style` and `explode` of OpenAPI 3.1.1 (sections 4.8.12.2 to
// 4.8.12.6, after RFC 6570). Texts are split as they were sent and decoded afterwards, because an encoded
// delimiter belongs to a value.

import type { ParameterForm } from '../document/contract.js'
import { RequestError } from '../document/request-error.js'
import { splitPair, textsByName } from '../lib/texts.js'
import { parseJson } from './json.js'

/** Decodes one value. */
export type Decode = (text: string) => string

/** The texts that were sent for each name, undecoded. */
export type Sent = Map<string, string[]>

/** The error of a parameter that is not written in its style. */
export class StyleError extends Error {
  constructor(
    message: string,
    readonly path: readonly string[] = [],
  ) {
    super(message)
  }
}

const once = 'must be given once'

/**
 * Returns the value of a parameter, and removes its texts from `sent`. Returns undefined if it was not sent.
 * @throws {StyleError}
 */
export function readStyled(sent: Sent, name: string, form: ParameterForm, decode: Decode): unknown {
  const { style, read, separator = ',', allowEmptyValue } = form
  const from = style === 'matrix' ? inMatrix(sent, name, form, decode) : sent
  if (read === 'fields' || read === 'deepFields') return readFields(from, name, form, decode)
  const texts = from.get(name)
  from.delete(name)
  if (texts === undefined || (allowEmptyValue && texts.every((each) => each === ''))) return undefined
  if (read === 'repeated') return texts.map(decode)
  if (read === 'oneOrRepeated') return oneOrList(texts.map(decode))
  const [text = '', ...others] = texts
  if (others.length > 0) throw new StyleError(once)
  if (style === 'label' && !text.startsWith('.')) throw new StyleError('must begin with a dot')
  const readText = readers[read as OneText] // a whole query has no name, and is not read here
  return readText(style === 'label' ? text.slice(1) : text, decode, separators[separator])
}

/** As Fastify's query parser does. */
export function oneOrList(texts: readonly string[]): unknown {
  return texts.length === 1 ? texts[0] : texts
}

// Blanks and bars may be encoded.
const separators = { ',': ',', '.': '.', ' ': /%20|\+/, '|': /\||%7C/i } as const

type ReadText = (text: string, decode: Decode, separator: string | RegExp) => unknown

type OneText = Exclude<
  ParameterForm['read'],
  'repeated' | 'oneOrRepeated' | 'fields' | 'deepFields' | 'whole'
>

const readers: Readonly<Record<OneText, ReadText>> = {
  json: (text, decode) => parsed(decode(text), parseJson),
  text: (text, decode) => decode(text),
  list: (text, decode, separator) => text.split(separator).map(decode),
  // Empty elements are ignored (RFC 9110, section 5.6.1.2).
  headerList: (text, decode) =>
    text
      .split(',')
      .map(decode)
      .filter((each) => each !== ''),
  pairs: (text, decode, separator) =>
    toObject(partsOf(text, separator).map((part) => readPair(part, decode))),
  turns: (text, decode, separator) => toObject(pairsOf(partsOf(text, separator).map(decode))),
}

function partsOf(text: string, separator: string | RegExp): string[] {
  return text === '' ? [] : text.split(separator)
}

function readPair(text: string, decode: Decode): [name: string, value: string] {
  if (!text.includes('=')) throw new StyleError('must be fields, each written name=value')
  const [name, value] = splitPair(text)
  return [decode(name), decode(value)]
}

function pairsOf(texts: readonly string[]): [name: string, value: string][] {
  if (texts.length % 2 > 0) throw new StyleError('must be names and values in turn')
  return texts.flatMap((name, index) => (index % 2 > 0 ? [] : [[name, texts[index + 1] ?? '']]))
}

// RFC 6570, section 3.2.7: each part has a name, and no equals sign if its value is empty.
function inMatrix(sent: Sent, name: string, { read }: ParameterForm, decode: Decode): Sent {
  const [text = ''] = sent.get(name) ?? []
  const pairs = text.slice(1).split(';').map(splitPair)
  const parts = textsByName(pairs.map(([each, value]) => [decode(each), value]))
  const areOwn = read === 'fields' || [...parts.keys()].every((each) => each === name)
  if (!text.startsWith(';') || !areOwn) throw new StyleError(`must be written ;${name}=…`)
  return parts
}

function readFields(
  sent: Sent,
  name: string,
  form: ParameterForm,
  decode: Decode,
): Record<string, unknown> | undefined {
  const fields: [name: string, value: string][] = []
  for (const [sentName, [text = '', ...others]] of sent) {
    const field = form.read === 'deepFields' ? inBrackets(sentName, name) : fieldOf(sentName, form)
    if (field === undefined) continue
    sent.delete(sentName)
    if (others.length > 0) throw new StyleError(once, [field])
    fields.push([field, decode(text)])
  }
  return fields.length > 0 ? toObject(fields) : undefined
}

function inBrackets(sentName: string, name: string): string | undefined {
  return sentName.startsWith(`${name}[`)
    ? /^\[([^[\]]+)\]$/.exec(sentName.slice(name.length))?.[1]
    : undefined
}

function fieldOf(sentName: string, { names, isOpen, taken }: ParameterForm): string | undefined {
  const isTaken = (other: string) => (other.endsWith('[') ? sentName.startsWith(other) : sentName === other)
  return names.includes(sentName) || (isOpen && !taken.some(isTaken)) ? sentName : undefined
}

/**
 * Returns an object without a prototype, as Fastify's own parser does, so that no name is special.
 * @throws {StyleError} if a name occurs twice
 */
export function toObject(
  fields: readonly (readonly [name: string, value: string])[],
): Record<string, unknown> {
  const object: Record<string, unknown> = Object.create(null)
  for (const [name, value] of fields) {
    if (name in object) throw new StyleError(once, [name])
    object[name] = value
  }
  return object
}

/**
 * Parses a text with a reader of bodies.
 * @throws {StyleError}
 */
export function parsed<Value>(text: string, parse: (bytes: Buffer) => Value): Value {
  try {
    return parse(Buffer.from(text))
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    throw new StyleError(error.message.replace(/^The body /, '').replace(/\.$/, ''))
  }
}
