// JSON: a value of any schema.

import type { Schema } from '../../document/contract.js'
import { isJson } from '../../document/media-types.js'
import type { DeclaredKind } from '../declared-kind.js'

export const json: DeclaredKind = {
  read(reader, { mediaType, media }) {
    if (!isJson(mediaType)) return undefined
    reader.checkRefs(media.schema)
    return { mediaType, kind: 'json', schema: media.schema as Schema | boolean }
  },
  type: (_, value) => value,
}
