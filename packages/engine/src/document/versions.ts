// The versions of OpenAPI that a document may be written in.

import { shownValue } from '../lib/texts.js'
import type { Node } from './reader.js'

/** Says what is wrong with the version of OpenAPI that a document names; undefined if nothing is. */
export function versionProblem(version: unknown): string | undefined {
  if (/^3\.[012]\.\d+$/.test(String(version))) return undefined
  // YAML reads 3.2 and 3.1 as numbers, and 3.0 as 3.
  if (typeof version === 'number') return `openapi must be a text like '3.1.0', not the number ${version}`
  const must = 'openapi must be 3.0.x, 3.1.x or 3.2.x, such as 3.1.0'
  if (version === undefined) return `${must}, and is missing: Swagger 2.0 has to be converted first`
  return `${must}, not ${shownValue(version)}`
}

/** True if a document is written in OpenAPI 3.0. */
export function isOpenApi30(document: object | undefined): boolean {
  return String((document as Node | undefined)?.openapi).startsWith('3.0')
}

/** True if a document is written in OpenAPI 3.2. */
export function isOpenApi32(document: object | undefined): boolean {
  return String((document as Node | undefined)?.openapi).startsWith('3.2')
}
