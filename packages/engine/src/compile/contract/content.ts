// Reads the Media Type Objects of request bodies and responses, and finds those that the server can serve
// (kinds/).

import type { Content } from '../../document/contract.js'
import { isMediaType, normalType } from '../../document/media-types.js'
import type { Reader } from '../../document/reader.js'
import type { Declared, Use } from '../../kinds/declared-kind.js'
import { readContent } from '../../kinds/declared-kinds.js'

/**
 * Reads the media types of a request body or a response. A media type that the server cannot validate is
 * skipped if there is another one, with a warning; otherwise the operation is unsupported.
 */
export function readContents(reader: Reader, place: string, content: unknown, use: Use): Content[] {
  const declared = Object.entries(reader.node(content)).map(([mediaType, value]) => {
    return { place, mediaType, media: reader.node(value) }
  })
  checkTypes(reader, declared)
  if (use === 'request' && declared.length === 0) reader.unsupported(`${place} has no content`)
  const read = declared.flatMap((each) => readContent(reader, each, use))
  const contents = read.filter((each) => typeof each !== 'string')
  for (const text of read.filter((each) => typeof each === 'string')) {
    if (contents.length > 0) reader.warn(text)
    else reader.unsupported(text)
  }
  return contents
}

function checkTypes(reader: Reader, declared: readonly Declared[]): void {
  const known = new Set<string>()
  for (const { place, mediaType } of declared) {
    if (!isMediaType(mediaType)) reader.unsupported(`${place} ${mediaType} is not a media type`)
    const name = normalType(mediaType)
    if (known.has(name)) reader.unsupported(`${place} ${mediaType} is declared twice`)
    known.add(name)
  }
}
