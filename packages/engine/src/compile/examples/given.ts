// Reads the examples that a contract gives for a header, or for the content of a response.

import { type Node, nodeOf, type Reader } from '../../document/reader.js'
import { exactly } from '../../runtime/exact-values.js'
import { parseJson } from '../../runtime/json.js'

export interface Example {
  /** Undefined for the only one (`example`). */
  readonly name: string | undefined
  readonly value: unknown
}

/**
 * Returns the examples of a Header Object or a Media Type Object. An example in another file
 * (`externalValue`) is left out.
 * @param isJson true if `serializedValue` is JSON
 */
export function examplesOf(node: Node, reader: Reader, isJson = false): Example[] {
  const single = node.example === undefined ? [] : [{ name: undefined, value: exactly(node).example }]
  const named = Object.entries(nodeOf(node.examples)).flatMap(([name, each]) => {
    const { value, dataValue = value, serializedValue } = exactly(reader.node(each))
    const given = dataValue ?? (isJson ? jsonOf(serializedValue) : serializedValue)
    return given === undefined ? [] : [{ name, value: given }]
  })
  return [...single, ...named]
}

/** Returns the value of a JSON text; undefined if the text is not JSON. */
export function jsonOf(text: unknown): unknown {
  try {
    return parseJson(Buffer.from(String(text)))
  } catch {
    return undefined
  }
}
