// JSON, also of any `+json` type.

import { parseJson } from '../../runtime/json.js'
import { bySchema, inUtf8, noFaults, type ServedKind } from '../kind.js'

export const json: ServedKind = {
  isText: true,
  isOfValue: true,
  streams: undefined,
  receivedAs: 'json',
  received: {
    read: (bytes) => ({ value: parseJson(bytes), faults: noFaults }),
    query: 'decoded',
  },
  sent: {
    typeOf: inUtf8,
    check: bySchema,
    writer: () => (body, toJson) => toJson(body) ?? '',
    inJson: ({ schema }) => ({ schema }),
  },
}
