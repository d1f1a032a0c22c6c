// What no file of a contract may contain, whatever its fields mean. Found without recursion, before anything
// that recurses reads the file.

import type { Pointer, Problem } from './contract-error.js'
import { containerFields, type Nesting, nestingIn, outermost } from './keywords.js'

// As Redocly's parser of YAML: far more than people write, and far from overflowing the stack of any reader.
const nestingMax = 100

interface Part {
  readonly value: unknown
  readonly at: Pointer
  readonly nesting: Nesting
}

/** The first place of a parsed file with null for an object, or broken text, or nested too deeply. */
export function formProblem(document: object): Problem | undefined {
  const pending: Part[] = [{ value: document, at: [], nesting: outermost }]
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    for (const inner of membersOf(part).reverse()) {
      const fault = faultOf(part, inner)
      if (fault !== undefined) return { text: `${inner.at.slice(-3).join('.')} ${fault}`, at: inner.at }
      pending.push(inner)
    }
  }
  return undefined
}

function membersOf({ value, at, nesting }: Part): Part[] {
  if (typeof value !== 'object' || value === null) return []
  const isList = Array.isArray(value)
  return Object.entries(value).map(([key, each]) => {
    return { value: each, at: [...at, isList ? Number(key) : key], nesting: nestingIn(nesting, key, isList) }
  })
}

function faultOf(around: Part, { value, at }: Part): string | undefined {
  const key = String(at.at(-1))
  if (value === null && isContainer(around, key)) return 'is null: give it a value, or remove it'
  if (around.nesting.of === 'mapping' && typeof value !== 'string')
    return 'must be the name of a schema or a $ref'
  // RFC 8259, section 8.2: without its other half, a surrogate has no encoding: writing would alter it.
  if (/\p{Cs}/u.test(typeof value === 'string' ? key + value : key)) return 'contains half a surrogate pair'
  return at.length > nestingMax ? `is nested more than ${nestingMax} levels deep` : undefined
}

// Whether a member must be an object or an array.
function isContainer({ value, nesting: { isMap, isData } }: Part, key: string): boolean {
  if (isData || key.startsWith('x-')) return false
  return isMap || Array.isArray(value) || containerFields.has(key)
}
