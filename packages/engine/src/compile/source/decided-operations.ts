// Decides once what operations leave to their readers (decided.ts): whether a parameter may be absent, and
// the case of status ranges.

import type { Pointer } from '../../document/contract-error.js'
import type { Node, Reader } from '../../document/reader.js'

/**
 * Returns a Parameter Object as the server reads it. OpenAPI 3.1.1, section 4.8.12.2: a parameter in a path
 * is always required; a parameter with a default may be absent, whatever `required` says.
 */
export function decideParameter(reader: Reader, node: Node, note: (text: string) => void): Node {
  if (typeof node.name !== 'string') return node
  if (node.in === 'path') {
    if (node.required === true) return node
    note('is in the path, and so is required')
    return { ...node, required: true }
  }
  const { default: value } = reader.node(node.schema)
  if (node.required !== true || value === undefined) return node
  note('has a default, and so is not required')
  return { ...node, required: false }
}

/**
 * Returns the Responses Object of an operation with ranges of statuses in upper case, as OpenAPI writes them.
 */
export function decideStatuses(responses: Node, at: Pointer, note: (text: string) => void): Node {
  const isNamed = at[0] === 'components' && at.length === 2
  const ranges = isNamed ? [] : Object.keys(responses).filter((key) => /^[1-5]x{2}$/i.test(key))
  const lower = ranges.filter((key) => key !== key.toUpperCase() && !(key.toUpperCase() in responses))
  if (lower.length === 0) return responses
  for (const key of lower) note(`has the status ${key}: it is read as ${key.toUpperCase()}`)
  const entries = Object.entries(responses)
  return Object.fromEntries(
    entries.map(([key, each]) => [lower.includes(key) ? key.toUpperCase() : key, each]),
  )
}
