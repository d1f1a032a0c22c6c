// `<<` is a merge in YAML 1.1, and a name like any other in YAML 1.2, which OpenAPI uses. Authors of
// contracts write it before an alias or an anchor; libraries write a property called `<<` in the same way,
// before its own value.

import { type Document, isAlias, isMap, isScalar, isSeq, Scalar, visit } from 'yaml'

/** The tag of a merge in YAML: some tools write `!!merge <<: *anchor`. */
export const mergeTag = 'tag:yaml.org,2002:merge'

/** Turns each `<<` of a document that merges nothing into a name. */
export function nameUnmerged(document: Document.Parsed): void {
  visit(document, {
    Pair(_, pair) {
      const { key, value } = pair
      if (!isMerge(key) || key.tag === mergeTag || isAnchored(value)) return
      pair.key = Object.assign(new Scalar('<<'), { type: Scalar.QUOTE_DOUBLE, range: key.range })
    },
  })
}

/** True if a key merges: the parser has made it a symbol. */
export function isMerge(key: unknown): key is Scalar {
  return isScalar(key) && typeof key.value === 'symbol'
}

function isAnchored(value: unknown): boolean {
  if (isAlias(value)) return true
  if (isSeq(value)) return value.items.some(isAnchored)
  return isMap(value) && value.anchor !== undefined
}
