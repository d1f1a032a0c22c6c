// Reads the exact values of a node of the document. The document has doubles, which all of its readers
// understand, and beside them, as JSON, the values that a double would round (compile/source/upgrade.ts).

import { parse } from 'lossless-json'
import { exactExamples, exactNumbers } from '../document/keywords.js'
import type { Node } from '../document/reader.js'
import { exactNumber } from '../lib/exact-number.js'

/**
 * Returns a node with its integers beyond 2^53 as bigints, in keywords and examples; the node itself if it
 * has none.
 */
export function exactly<Each extends Node>(node: Each): Each {
  if (!(exactNumbers in node) && !(exactExamples in node)) return node
  const { [exactNumbers]: numbers, [exactExamples]: examples, ...rounded } = node as Node
  return { ...rounded, ...parsed(numbers), ...parsed(examples) } as Each // the same fields
}

function parsed(json: unknown): object {
  return typeof json === 'string' ? (parse(json, undefined, { parseNumber: exactNumber }) as object) : {}
}
