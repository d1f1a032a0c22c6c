// What an operation declares of its requests, as one schema for each part of them.

import { essence } from '../contract/media-types.js'
import { Reader } from '../contract/reader.js'
import type { Content, Operation, Parameter, Schema } from '../contract/types.js'
import { withBytes, withFiles } from '../schemas/bytes.js'
import type { AnySchema } from '../schemas/subschemas.js'

/** By the names that Fastify has for the parts; a body by its media types. */
export interface RequestSchemas {
  readonly params?: Schema
  readonly querystring: Schema
  readonly headers?: Schema
  readonly body?: { readonly content: Readonly<Record<string, { readonly schema: AnySchema }>> }
}

/** Finds the schemas of what is sent for an operation, but for its cookies. One that declares no query parameters takes none. */
export function requestSchemas(operation: Operation, document: object): RequestSchemas {
  const params = parametersSchema(operation, 'path')
  const headers = parametersSchema(operation, 'header')
  // Fastify finds a body's schema by its media type, to the letter.
  const bodies = (operation.body?.contents ?? [])
    .filter(({ schema }) => schema !== undefined)
    .map((each) => [essence(each.mediaType), { schema: bodySchema(each, document) }])
  return {
    ...(params && { params }),
    querystring: parametersSchema(operation, 'query') ?? { type: 'object' },
    ...(headers && { headers }),
    ...(bodies.length > 0 && { body: { content: Object.fromEntries(bodies) } }),
  }
}

/** The schema of all parameters in one place; undefined where there are none. What is JSON is validated by itself. */
export function parametersSchema({ parameters }: Operation, location: Parameter['in']): Schema | undefined {
  const here = parameters.filter((each) => each.in === location)
  if (here.length === 0) return undefined
  const properties = here.map(({ name, form, schema }) => [name, form?.style === 'json' ? {} : schema])
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: here.filter(({ required }) => required).map(({ name }) => name),
  }
}

function bodySchema({ kind, fields, schema = true }: Content, document: object): AnySchema {
  if (schema === false) return { not: {} } // to Fastify, `false` is no schema
  if (kind === 'bytes') return withBytes(schema)
  if (kind !== 'multipart') return schema
  return withFiles(new Reader(document), schema, (name) => fields?.get(name)?.kind === 'file')
}
