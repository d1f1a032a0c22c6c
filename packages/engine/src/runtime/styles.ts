// Reads texts that are written in a parameter's style: `style` and `explode` of OpenAPI 3.1.1 (sections
// 4.8.12.2 to 4.8.12.6, after RFC 6570). They are split as they were sent and decoded afterwards, because an
// encoded delimiter belongs to a value.

import type { ParameterForm } from '../document/contract.js'
import { RequestError } from '../document/request-error.js'
import { splitPair } from '../lib/texts.js'
import { parseJson } from './json.js'

/** Decodes one value. */
export type Decode = (text: string) => string

/** A parameter that is not written in its style. */
export class StyleError extends Error {
  constructor(
    message: string,
    readonly path: readonly string[] = [],
  ) {
    super(message)
  }
}

/** The message for what was sent more than once. */
export const once = 'must be given once'

/**
 * The value of a parameter that is sent as one text.
 * @param isHeader whether empty elements of its list are ignored (RFC 9110, section 5.6.1.2)
 * @throws {StyleError}
 */
export function readStyled(
  text: string,
  name: string,
  form: ParameterForm,
  decode: Decode,
  isHeader = false,
): unknown {
  const { style, explode, shape } = form
  switch (style) {
    case 'json':
      return parsed(decode(text), parseJson)
    case 'label':
      if (!text.startsWith('.')) throw new StyleError('must begin with a dot')
      return readParts(text.slice(1), explode ? '.' : ',', form, decode)
    case 'matrix':
      return readMatrix(text, name, form, decode)
    case 'spaceDelimited':
      return readParts(text, /%20|\+/, form, decode)
    case 'pipeDelimited':
      return readParts(text, /\||%7C/i, form, decode)
    default:
      if (isHeader && shape === 'array')
        return text
          .split(',')
          .map(decode)
          .filter((each) => each !== '')
      return readParts(text, ',', form, decode)
  }
}

// Splits a text into the elements of a list, or the fields of an object: `name=value` if exploded, else names
// and values in turn.
function readParts(
  text: string,
  delimiter: string | RegExp,
  { shape, explode }: ParameterForm,
  decode: Decode,
): unknown {
  if (shape === 'primitive') return decode(text)
  const parts = text.split(delimiter)
  if (shape === 'array') return parts.map(decode)
  if (text === '') return toObject([])
  return toObject(explode ? parts.map((part) => readField(part, decode)) : pairsOf(parts.map(decode)))
}

function readField(text: string, decode: Decode): [name: string, value: string] {
  if (!text.includes('=')) throw new StyleError('must be fields, each written name=value')
  const [name, value] = splitPair(text)
  return [decode(name), decode(value)]
}

function pairsOf(texts: readonly string[]): [name: string, value: string][] {
  if (texts.length % 2 > 0) throw new StyleError('must be names and values in turn')
  return texts.flatMap((name, index) => (index % 2 > 0 ? [] : [[name, texts[index + 1] ?? '']]))
}

// RFC 6570, section 3.2.7: each part has a name, and no equals sign if its value is empty.
function readMatrix(text: string, name: string, form: ParameterForm, decode: Decode): unknown {
  const { explode, shape } = form
  const fields = text
    .split(';')
    .slice(1)
    .map(splitPair)
    .map(([field, value]) => [decode(field), value] as const)
  if (explode && shape === 'object' && text.startsWith(';')) {
    return toObject(fields.map(([field, value]) => [field, decode(value)]))
  }
  if (!text.startsWith(';') || fields.some(([field]) => field !== name)) {
    throw new StyleError(`must be written ;${name}=…`)
  }
  if (explode && shape === 'array') return fields.map(([, value]) => decode(value))
  if (fields.length > 1) throw new StyleError(once)
  return readParts(fields[0]?.[1] ?? '', ',', form, decode)
}

/**
 * Without a prototype, like Fastify's own: no name is special.
 * @throws {StyleError} if a name is there twice
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
 * What a reader of bodies makes of a text.
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
