// Makes one text of all equal values, for fingerprints. Stored fingerprints outlive the release that made
// them, so the text of a value must never change.

import { hash } from 'node:crypto'

/**
 * Writes JSON with the names of objects in order, bigints as numbers, and bytes as their hash. Returns
 * undefined for a value that JSON does not have.
 */
export function canonicalJson(value: unknown): string | undefined {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (value instanceof Uint8Array) return `"${hash('sha256', value)}"`
  return Array.isArray(value) ? `[${elementsOf(value)}]` : `{${membersOf(value)}}`
}

// Goes by index, to include holes.
function elementsOf(array: readonly unknown[]): string {
  let text = ''
  for (let i = 0; i < array.length; i++) text += `${i === 0 ? '' : ','}${canonicalJson(array[i]) ?? 'null'}`
  return text
}

function membersOf(object: object): string {
  let text = ''
  for (const name of namesInOrder(object)) {
    const value = canonicalJson((object as Record<string, unknown>)[name]) // its own name
    if (value !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${value}`
  }
  return text
}

// Returns the names in the order of an object to which they were added sorted: names like indices first, by
// number.
function namesInOrder(object: object): string[] {
  const names = Object.keys(object)
  const mayHaveIndices = /^\d/.test(names[0] ?? '') // an object has them first
  const sorted = names.length > fewNames ? names.sort() : sortFew(names)
  return mayHaveIndices ? Object.keys(Object.fromEntries(sorted.map((name) => [name, name]))) : sorted
}

const fewNames = 16

// An insertion sort. V8 14's `sort` allocates 0.8 kB for three names, as much as the rest of a fingerprint.
function sortFew(names: string[]): string[] {
  for (let i = 1; i < names.length; i++) {
    const name = names[i] as string // below its length
    let to = i
    for (; to > 0 && name < (names[to - 1] as string); to--) names[to] = names[to - 1] as string
    names[to] = name
  }
  return names
}
