// Answers against the contract: status, declared headers and body are checked before they leave. What
// breaks the contract is a fault of the service: a masked 500, with the place in the log.

import type { ValidateFunction } from 'ajv'
import { addBarred, withoutBarred } from './directions.js'
import type { Header, Operation, Schema } from './document.js'
import { isJson } from './media-types.js'
import { mapSchemas } from './numbers.js'
import { compilable, createAjv } from './validation.js'

/** An answer is not what the contract declares. The message names the status and the JSON pointer. */
export class ResponseError extends Error {
  override name = 'ResponseError'
}

/** glue's form of the declared responses: by status, then by media type. */
export type ResponseSchemas = Readonly<
  Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }>
>

/** The value of a header that is set, by its name in lower case. */
type HeaderOf = (name: string) => unknown

/** Checks the answers of one operation. */
export interface ResponseCheck {
  /** @throws {ResponseError} when the status is not declared, or a declared header is missing or wrong. */
  head(status: number, headerOf: HeaderOf): void
  /** @throws {ResponseError} when the body is not what the contract declares for the status. */
  body(status: number, body: unknown): void
  /** Whether the contract declares the status, by itself or with others. */
  declares(status: number): boolean
}

/** Makes the checks; one maker compiles for all operations. */
export function createResponseChecks(): (operation: Operation, schemas: ResponseSchemas) => ResponseCheck {
  const headerAjv = createAjv('text', { coerceTypes: true })
  const bodyAjv = createAjv('check', { allErrors: false })
  addBarred(bodyAjv, 'writeOnly')
  const compileHeader = once((schema) =>
    headerAjv.compile<{ value: unknown }>({ type: 'object', properties: { value: compilable(schema) } }),
  )
  const compileBody = once((schema) => bodyAjv.compile(withoutBarred(compilable(schema), 'writeOnly')))
  return (operation, schemas) => {
    const headerChecks = new Map(
      [...operation.responses].map(([status, { headers }]) => [
        status,
        headers.map((header) => headerCheck(compileHeader, header)),
      ]),
    )
    const bodyChecks = new Map(
      Object.entries(schemas).map(([status, { content = {} }]) => [
        status.toLowerCase(),
        bodyCheck(compileBody, content),
      ]),
    )
    const declared = (status: number) => declaredStatus(headerChecks, status)
    return {
      head(status, headerOf) {
        const checks = headerChecks.get(declared(status) ?? '')
        if (checks === undefined) throw new ResponseError(`${operation.id} may not answer ${status}`)
        for (const check of checks) {
          const problem = check(headerOf)
          if (problem !== undefined) throw new ResponseError(`${operation.id} ${status}: header ${problem}`)
        }
      },
      body(status, body) {
        const key = declared(status) ?? ''
        const problem = bodyProblem(operation.responses.get(key)?.mediaTypes ?? [], bodyChecks.get(key), body)
        if (problem !== undefined) throw new ResponseError(`${operation.id} ${status}: ${problem}`)
      },
      declares: (status) => declared(status) !== undefined,
    }
  }
}

type Compile = (schema: Schema) => ValidateFunction

// Most answers of a contract share their headers and their error.
function once(compile: Compile): Compile {
  const made = new Map<string, ValidateFunction>()
  return (schema) => {
    const text = JSON.stringify(schema)
    const validate = made.get(text) ?? compile(schema)
    made.set(text, validate)
    return validate
  }
}

function bodyProblem(
  mediaTypes: readonly string[],
  validate: ValidateFunction | undefined,
  body: unknown,
): string | undefined {
  if (mediaTypes.length === 0) return body === undefined ? undefined : 'no body is declared'
  if (!mediaTypes.some(isJson)) {
    return typeof body === 'string' || body instanceof Uint8Array
      ? undefined
      : 'the body must be text or bytes'
  }
  if (validate === undefined || validate(body)) return undefined
  const { instancePath, message } = validate.errors?.[0] ?? {}
  return `body at "${instancePath}" ${message}`
}

// A status stands for itself, for its class (`4XX`), or for what `default` describes.
function declaredStatus(declared: ReadonlyMap<string, unknown>, status: number): string | undefined {
  const candidates = [String(status), `${Math.floor(status / 100)}xx`, 'default']
  return candidates.find((candidate) => declared.has(candidate))
}

function headerCheck(
  compile: Compile,
  { name, required, schema }: Header,
): (headerOf: HeaderOf) => string | undefined {
  const validate = compile(schema)
  const key = name.toLowerCase()
  // Many say the same each time.
  let lastValid: unknown
  return (headerOf) => {
    const value = headerOf(key)
    if (value === undefined) return required ? `${name} is missing` : undefined
    if (value === lastValid) return undefined
    // Node takes numbers for header values; on the wire they are text.
    if (!validate({ value: String(value) })) return `${name} ${validate.errors?.[0]?.message}`
    lastValid = value
    return undefined
  }
}

function bodyCheck(
  compile: Compile,
  content: NonNullable<ResponseSchemas[string]['content']>,
): ValidateFunction | undefined {
  const schema = Object.entries(content).find(([mediaType]) => isJson(mediaType))?.[1].schema
  return schema && compile(schema)
}

/**
 * Whether Fastify's serializer writes all that the schemas allow. It chooses among alternatives with an Ajv that knows
 * no bigint, and writes none where no type is named.
 */
export function isPlain(schemas: ResponseSchemas): boolean {
  const all = Object.values(schemas).flatMap(({ content = {} }) => Object.values(content))
  return all.every(({ schema = {} }) => isPlainSchema(schema))
}

function isPlainSchema(schema: Schema): boolean {
  let isPlain = true
  mapSchemas(schema, (each) => {
    const hasChoice = ['anyOf', 'oneOf', 'allOf', 'if', '$ref', 'writeOnly'].some(
      (keyword) => keyword in each,
    )
    if (hasChoice || typeof each.type !== 'string') isPlain = false
    return each
  })
  return isPlain
}
