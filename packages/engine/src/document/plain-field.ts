// A field of a form of which a contract says nothing.

import type { Field } from './contract.js'

/** A field without a schema. */
export const plainField: Field = {
  kind: 'text',
  isList: false,
  types: undefined,
  separator: undefined,
  mediaTypes: [],
}
