// Text: a string; in a request also a number or a boolean, which the server converts from its text.

import { allowedTypes } from '../../document/allowed-types.js'
import { essence, isRange, isUtf8 } from '../../document/media-types.js'
import { isFile } from '../bytes/declared.js'
import { type DeclaredKind, schemaOf, unsupported } from '../declared-kind.js'

export const text: DeclaredKind = {
  read(reader, declared, use) {
    const { mediaType } = declared
    const schema = schemaOf(reader, declared)
    if (!essence(mediaType).startsWith('text/') || isRange(mediaType) || isFile(schema ?? {}))
      return undefined
    const types = allowedTypes(schema ?? {})
    const known = use === 'request' ? ['string', 'integer', 'number', 'boolean'] : ['string']
    const isScalar = types === undefined || types.every((type) => known.includes(type))
    return isScalar && isUtf8(mediaType)
      ? { mediaType, kind: 'text', schema, types }
      : [unsupported(declared)]
  },
  type: ({ types }, value) => (types === undefined ? 'string' : value),
}
