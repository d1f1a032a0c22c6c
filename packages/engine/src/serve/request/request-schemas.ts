// The schemas of an operation's requests, one for each part of a request.

import type { Content, Operation, Parameter, ParameterForm, Schema } from '../../document/contract.js'
import type { AnySchema } from '../../document/keywords.js'
import { isStream, kindOf } from '../../kinds/index.js'

/** By Fastify's name for each part; a body by its media types. */
export interface RequestSchemas {
  readonly params?: Schema
  readonly querystring: Schema
  readonly headers?: Schema
  readonly body?: { readonly content: Readonly<Record<string, { readonly schema: AnySchema }>> }
}

/**
 * The schemas of an operation, except for its cookies. An operation without query parameters accepts none.
 */
export function requestSchemas(operation: Operation, document: object): RequestSchemas {
  const params = parametersSchema(operation, 'path')
  const headers = parametersSchema(operation, 'header')
  // Of a body, Fastify compares these names with the media type that checkMediaType gives it. Items are
  // judged one by one (arriving-items.ts).
  const bodies = (operation.body?.contents ?? [])
    .filter((each) => each.schema !== undefined && !isStream(each))
    .map((each) => [each.mediaType, { schema: bodySchema(each, document) }])
  return {
    ...(params && { params }),
    querystring: parametersSchema(operation, 'query') ?? { type: 'object' },
    ...(headers && { headers }),
    ...(bodies.length > 0 && { body: { content: Object.fromEntries(bodies) } }),
  }
}

/**
 * The schema of all parameters in one location; undefined if there are none. JSON, and a whole query, are
 * validated separately.
 */
export function parametersSchema({ parameters }: Operation, location: Parameter['in']): Schema | undefined {
  const here = parameters.filter((each) => each.in === location)
  if (here.length === 0) return undefined
  const properties = here.map(({ name, form, schema }) => [name, isSeparate(form) ? {} : schema])
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: here.filter(({ required }) => required).map(({ name }) => name),
  }
}

function isSeparate(form: ParameterForm | undefined): boolean {
  return form?.style === 'json' || form?.style === 'whole'
}

function bodySchema(content: Content, document: object): AnySchema {
  const { schema = true } = content
  if (schema === false) return { not: {} } // Fastify ignores a schema of `false`
  return kindOf(content).received?.schemaOf?.(schema, content, document) ?? schema
}
