// The examples that a contract gives for a header, or for the content of a response.

import { type Node, nodeOf, type Reader } from '../document/reader.js'

export interface Example {
  /** Undefined of the only one (`example`). */
  readonly name: string | undefined
  readonly value: unknown
}

/** Those of a Header Object or a Media Type Object. What is in another file (`externalValue`) is left out. */
export function examplesOf(node: Node, reader: Reader): Example[] {
  const single = node.example === undefined ? [] : [{ name: undefined, value: node.example }]
  const named = Object.entries(nodeOf(node.examples)).flatMap(([name, each]) => {
    const { value, dataValue = value, serializedValue = dataValue } = reader.node(each)
    const given = dataValue ?? serializedValue
    return given === undefined ? [] : [{ name, value: given }]
  })
  return [...single, ...named]
}
