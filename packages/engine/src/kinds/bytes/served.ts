// Bytes: content that the server does not look into, except for its length.

import { Readable } from 'node:stream'
import { withBytes } from '../../runtime/bytes.js'
import { because, bySchema, noFaults, type ServedKind } from '../kind.js'
import { textOrBytes } from '../text/served.js'

export const bytes: ServedKind = {
  isText: false,
  isOfValue: false,
  streams: 'bytes',
  receivedAs: 'bytes',
  received: {
    read: (value) => ({ value, faults: noFaults }),
    schemaOf: withBytes,
  },
  sent: {
    typeOf: (mediaType) => mediaType,
    schemaOf: withBytes,
    check(validate) {
      const faultOf = bySchema(validate)
      return (body) => {
        if (body instanceof Readable) return undefined
        const isWhole = typeof body === 'string' || body instanceof Uint8Array
        return isWhole ? faultOf(body) : because('the body must be text or bytes')
      }
    },
    writer: () => textOrBytes,
  },
}
