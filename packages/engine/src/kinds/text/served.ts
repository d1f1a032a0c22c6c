// Text: a string; in a request, the value to which the server converts the text by its schema.

import { errorAt } from '../../runtime/messages.js'
import { convertedText, decodeText, noText, utf8Fault } from '../../runtime/text.js'
import { because, bySchema, inUtf8, noFaults, type ServedKind, Unwritable } from '../kind.js'

export const text: ServedKind = {
  isText: true,
  isOfValue: false,
  streams: undefined,
  receivedAs: 'text',
  received: {
    read(bytes, { types }) {
      const decoded = decodeText(bytes)
      if (decoded === undefined) return { value: bytes, faults: [errorAt([], noText)] }
      return { value: convertedText(decoded, types), faults: noFaults }
    },
    query: 'decoded',
  },
  sent: {
    typeOf: inUtf8,
    check(validate) {
      const faultOf = bySchema(validate)
      return (body) => (typeof body === 'string' ? faultOf(body) : because('the body must be text'))
    },
    writer: () => textOrBytes,
  },
}

/** Returns text that UTF-8 can hold, or bytes. Both have been checked. */
export function textOrBytes(body: unknown): string | Uint8Array {
  const fault = typeof body === 'string' ? utf8Fault(body) : undefined
  if (fault !== undefined) throw new Unwritable(fault)
  return body as string | Uint8Array // the body has been checked
}
