// Bytes: any media type whose schema constrains nothing but their length.

import { alternativesOf, asserts, isChoice } from '../../document/keywords.js'
import { isRange } from '../../document/media-types.js'
import { type Node, nodeOf, nodesOf } from '../../document/reader.js'
import { type DeclaredKind, schemaOf } from '../declared-kind.js'
import { lengthsOf } from '../form/declared-files.js'

export const bytes: DeclaredKind = {
  read(reader, declared, use) {
    const { mediaType } = declared
    const schema = schemaOf(reader, declared)
    const isAny = use === 'request' && isRange(mediaType)
    return isBytes(schema ?? {}, isAny) ? { mediaType, kind: 'bytes', schema } : undefined
  },
  type: (_content, _value, { body }) => body,
  upload: (_reader, _place, content) => ({
    ...content,
    upload: { files: new Map(), isClosed: false, ...lengthsOf(nodeOf(content.schema)) },
  }),
}

// Only the length of bytes can be validated, and only for a single media type: a validator is found by its
// media type, and a range is none.
const bytesKeywords = ['type', 'format', 'minLength', 'maxLength', 'contentMediaType', 'allOf']

/**
 * True if a schema constrains bytes only as far as the server can validate.
 * @param isAny true for a range of types
 */
export function isBytes(schema: Node, isAny: boolean): boolean {
  const isBounded = schema.minLength !== undefined || schema.maxLength !== undefined
  const isKnown = Object.keys(schema).every(
    (key) => bytesKeywords.includes(key) || !asserts(key) || (isChoice(key) && !isBounded),
  )
  const types = [schema.type ?? 'string'].flat()
  const parts = [...nodesOf(schema.allOf), ...givenAlternatives(schema)]
  return (
    isKnown &&
    isUnencoded(schema) &&
    !(isAny && isBounded) &&
    types.includes('string') &&
    parts.every((each) => isBytes(each, isAny))
  )
}

// RFC 2045, section 6.2: these encodings leave bytes unchanged.
function isUnencoded({ contentEncoding = 'binary' }: Node): boolean {
  return ['7bit', '8bit', 'binary'].includes(String(contentEncoding))
}

/** True if a schema describes bytes. */
export function isFile(schema: Node): boolean {
  const isMedia = schema.contentMediaType !== undefined && isUnencoded(schema)
  const alternatives = givenAlternatives(schema)
  return (
    schema.format === 'binary' ||
    schema.contentEncoding === 'binary' ||
    isMedia ||
    nodesOf(schema.allOf).some(isFile) ||
    (alternatives.length > 0 && alternatives.every(isFile))
  )
}

// Leaves out null, which only allows the value to be absent.
function givenAlternatives(schema: Node): Node[] {
  return alternativesOf(schema).filter(({ type }) => type !== 'null')
}
