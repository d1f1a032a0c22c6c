// OpenAPI 3.0 and 3.1 as one: schemas of JSON Schema 2020-12, which is what Ajv compiles, in a document that
// fastify-openapi-glue loses nothing of.

type Node = Readonly<Record<string, unknown>>

// Their keys are names of the document's own, not keywords.
const maps = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
  ...['schemas', 'responses', 'parameters', 'headers', 'requestBodies', 'pathItems', 'paths', 'content'],
])
// What they hold is data, which may look like anything.
const data = new Set(['example', 'examples', 'default', 'enum', 'const'])

/** The document in OpenAPI 3.1, whichever it was written in. */
export function toOneDialect(document: object): object {
  const { openapi } = document as Node
  const isOld = String(openapi).startsWith('3.0')
  return { ...(converted(document, false, isOld) as object), openapi: '3.1.0' }
}

function converted(value: unknown, isMap: boolean, isOld: boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => converted(each, false, isOld))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, each]) => {
    const isData = !isMap && (data.has(key) || key.startsWith('x-'))
    return [key, isData ? each : converted(each, !isMap && maps.has(key), isOld)]
  })
  const copy: Node = Object.fromEntries(entries)
  if (isMap) return copy
  return withSiblings(isOld ? modern(copy) : copy, isOld)
}

// Beside a `$ref`, 3.0 has nothing count; in 3.1 a schema's keywords do, and glue drops them.
function withSiblings(node: Node, isOld: boolean): Node {
  const { $ref, ...siblings } = node
  if (typeof $ref !== 'string') return node
  const counting = Object.keys(siblings).some((key) => key !== 'summary' && key !== 'description')
  if (isOld || !counting) return { $ref }
  const { allOf = [], ...others } = siblings
  return { ...others, allOf: [{ $ref }, ...(allOf as Node[])] }
}

/** A schema of 3.0 without the keywords that are 3.0's own: those inside of it are left alone. */
export function modern(schema: Node): Node {
  return withNull(withBound(withBound(schema, 'minimum', 'exclusiveMinimum'), 'maximum', 'exclusiveMaximum'))
}

function withBound(schema: Node, bound: string, exclusive: string): Node {
  if (typeof schema[exclusive] !== 'boolean') return schema
  const { [bound]: limit, [exclusive]: isExclusive, ...others } = schema
  if (limit === undefined) return others
  return { ...others, [isExclusive ? exclusive : bound]: limit }
}

// As openapi-typescript reads it: null is allowed beside whatever else the schema says.
function withNull(schema: Node): Node {
  if (typeof schema.nullable !== 'boolean') return schema
  const { nullable, ...others } = schema
  if (!nullable) return others
  if (typeof others.type !== 'string') return { anyOf: [others, { type: 'null' }] }
  const values = others.enum as unknown[] | undefined
  return { ...others, type: [others.type, 'null'], ...(values && { enum: [...new Set([...values, null])] }) }
}
