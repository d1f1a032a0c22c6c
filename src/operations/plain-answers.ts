// Answers that Fastify's serializer writes, from schemas without references, which it would take for its own.

import { Reader } from '../contract/reader.js'
import type { Operation } from '../contract/types.js'
import { exactNumbers } from '../contract/upgrade.js'
import { type AnySchema, mapSchemas } from '../schemas/exact-numbers.js'

/** In Fastify's form: by status, then by media type. */
export type ResponseSchemas = Readonly<
  Record<string, { readonly content: Readonly<Record<string, { readonly schema: unknown }>> }>
>

/**
 * Finds the schemas of an operation's answers in JSON; undefined unless Fastify's serializer writes all that they allow. It chooses
 * among alternatives with an Ajv that knows no bigint, and writes none where no type is named.
 */
export function createPlainAnswers(document: object): (operation: Operation) => ResponseSchemas | undefined {
  const reader = new Reader(document)
  const known = new Map<string, boolean>()
  const isPlain = (schema: AnySchema): boolean => {
    let found = typeof schema === 'object'
    mapSchemas(schema, (each) => {
      const hasChoice = ['anyOf', 'oneOf', 'allOf', 'if', 'writeOnly', exactNumbers].some(
        (name) => name in each,
      )
      if (typeof each.$ref === 'string') found &&= leadsToPlain(each.$ref)
      else if (hasChoice || typeof each.type !== 'string') found = false
      return each
    })
    return found
  }
  const leadsToPlain = (ref: string): boolean => {
    if (!known.has(ref)) {
      known.set(ref, false) // for what leads back to itself
      known.set(ref, isPlain(reader.node({ $ref: ref })))
    }
    return known.get(ref) === true
  }
  return ({ responses }) => {
    const answers = [...responses.values()].map(({ key, contents }) => {
      return [key, contents.filter(({ kind }) => kind === 'json')] as const
    })
    const schemas = answers.flatMap(([, contents]) => contents.map(({ schema = {} }) => schema))
    if (!schemas.every(isPlain)) return undefined
    const written = answers
      .filter(([, contents]) => contents.length > 0)
      .map(([key, contents]) => {
        const content = contents.map(({ mediaType, schema }) => [
          mediaType,
          { schema: reader.inlined(schema) },
        ])
        return [key, { content: Object.fromEntries(content) }]
      })
    return Object.fromEntries(written)
  }
}
