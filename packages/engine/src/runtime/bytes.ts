// Binary data, which the contract declares as strings: files in forms, and bodies that are not text. Only its
// length is validated, in bytes (OpenAPI 3.1.1, section 4.4.2).

import { Readable } from 'node:stream'
import { type AnySchema, choiceKeywords, mapSchemas } from '../document/keywords.js'

interface Rules {
  readonly minLength?: number
  readonly maxLength?: number
}

/** Returns what is wrong with bytes; undefined if nothing is. */
export function problemWithBytes(
  data: unknown,
  { minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Rules,
): string | undefined {
  if (data instanceof Readable) return undefined // request/upload.ts counts its bytes
  if (typeof data !== 'string' && !(data instanceof Uint8Array)) return 'must be bytes'
  const length = Buffer.byteLength(data)
  if (length < minLength) return `must have at least ${minLength} bytes`
  return length > maxLength ? `must have at most ${maxLength} bytes` : undefined
}

/** Returns a schema with `bytes` instead of `type: string`, also in its items and alternatives. */
export function withBytes<Each extends AnySchema>(schema: Each): Each {
  return mapSchemas(schema, (each) => {
    const { type = 'string', minLength, maxLength, ...others } = each
    if (![type].flat().includes('string') || ['items', ...choiceKeywords].some((key) => key in each))
      return each
    return {
      ...others,
      bytes: { ...(minLength !== undefined && { minLength }), ...(maxLength !== undefined && { maxLength }) },
    }
  })
}
