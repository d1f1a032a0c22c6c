// Answers against the contract: status, declared headers and body are checked before they leave. What
// breaks the contract is a fault of the service: a masked 500, with the place in the log.

import type { Ajv, ValidateFunction } from 'ajv'
import type { Header, Operation, Schema } from './document.js'
import { withExactIntegers } from './integers.js'
import { createAjv } from './validation.js'

/** An answer is not what the contract declares. The message names the status and the JSON pointer. */
export class ResponseError extends Error {
  override name = 'ResponseError'
}

/** glue's form of the declared responses: by status, then by media type. */
export type ResponseSchemas = Readonly<
  Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }>
>

type HeaderValues = Readonly<Record<string, unknown>>

/** Checks the answers of one operation. */
export interface ResponseCheck {
  /** @throws {ResponseError} when the status is not declared, or a declared header is missing or wrong. */
  head(status: number, headers: HeaderValues): void
  /** @throws {ResponseError} when the body is not what the contract declares for the status. */
  body(status: number, body: unknown): void
}

/** Makes the checks; one maker compiles for all operations. */
export function createResponseChecks(): (operation: Operation, schemas: ResponseSchemas) => ResponseCheck {
  const headerAjv = createAjv('text', { coerceTypes: true })
  const bodyAjv = createAjv('check', { allErrors: false })
  return (operation, schemas) => {
    const headerChecks = new Map(
      [...operation.responses].map(([status, { headers }]) => [
        status,
        headers.map((header) => headerCheck(headerAjv, header)),
      ]),
    )
    const bodyChecks = new Map(
      Object.entries(schemas).map(([status, { content = {} }]) => [
        status.toLowerCase(),
        bodyCheck(bodyAjv, content),
      ]),
    )
    const declared = (status: number) => declaredStatus(headerChecks, status)
    return {
      head(status, headers) {
        const checks = headerChecks.get(declared(status) ?? '')
        if (checks === undefined) throw new ResponseError(`${operation.id} may not answer ${status}`)
        for (const check of checks) {
          const problem = check(headers)
          if (problem !== undefined) throw new ResponseError(`${operation.id} ${status}: header ${problem}`)
        }
      },
      body(status, body) {
        const key = declared(status) ?? ''
        const validate = bodyChecks.get(key)
        if (
          validate === undefined &&
          body !== undefined &&
          !operation.responses.get(key)?.mediaTypes.length
        ) {
          throw new ResponseError(`${operation.id} ${status}: no body is declared`)
        }
        if (validate === undefined || validate(body)) return
        const { instancePath, message } = validate.errors?.[0] ?? {}
        throw new ResponseError(`${operation.id} ${status}: body at "${instancePath}" ${message}`)
      },
    }
  }
}

// A status stands for itself, for its class (`4XX`), or for what `default` describes.
function declaredStatus(declared: ReadonlyMap<string, unknown>, status: number): string | undefined {
  const candidates = [String(status), `${Math.floor(status / 100)}xx`, 'default']
  return candidates.find((candidate) => declared.has(candidate))
}

function headerCheck(
  ajv: Ajv,
  { name, required, schema }: Header,
): (headers: HeaderValues) => string | undefined {
  const validate = ajv.compile<{ value: unknown }>({
    type: 'object',
    properties: { value: withExactIntegers(schema) },
  })
  const key = name.toLowerCase()
  return (headers) => {
    const value = headers[key]
    if (value === undefined) return required ? `${name} is missing` : undefined
    // Node takes numbers for header values; on the wire they are text.
    return validate({ value: String(value) }) ? undefined : `${name} ${validate.errors?.[0]?.message}`
  }
}

function bodyCheck(
  ajv: Ajv,
  content: NonNullable<ResponseSchemas[string]['content']>,
): ValidateFunction | undefined {
  const schema = content['application/json']?.schema
  return schema && ajv.compile(withExactIntegers(schema))
}
