// What each operation takes and may answer, for its handler. Beside openapi-typescript's own types: a parameter
// with a default is always there, and an answer is one of a closed set of statuses, each with its body.

import type { Contract, Operation, Response } from '../../src/contract/document.js'
import { header } from './header.js'

// The type that handlers speak; any other is passed on as it is.
const json = 'application/json'

/** The text of generated/operations.ts. */
export function generateOperations({ operations }: Contract): string {
  const members = [...operations.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).map(operationType)
  return `${header}import type { operations } from './types.js'

/** Parameters with a default are always there. */
export type WithDefaults<Parameters, Names extends keyof Parameters> = Omit<Parameters, Names> & Required<Pick<Parameters, Names>>

/** Node gives the names of headers in lower case. */
export type LowerCase<Headers> = { [Name in keyof Headers as Lowercase<Name & string>]: Headers[Name] }

/** What each operation takes, and the answers that the contract declares for it. */
export interface Operations {
${members.join('\n')}
}

export type OperationId = keyof Operations
`
}

function operationType(operation: Operation): string {
  const { id } = operation
  const answers = [...operation.responses.values()].filter(({ status }) => /^\d{3}$/.test(status))
  return `  ${id}: {
    request: {
      params: ${parametersType(operation, 'path')}
      query: ${parametersType(operation, 'query')}
      headers: ${parametersType(operation, 'header')}
      body: ${bodyType(operation)}
    }
    response:
${answers.map((response) => `      | ${answerType(id, response)}`).join('\n') || '      never'}
  }`
}

function parametersType({ id, parameters }: Operation, location: 'path' | 'query' | 'header'): string {
  const here = parameters.filter((parameter) => parameter.in === location)
  if (here.length === 0) return 'Record<never, never>'
  const all = `NonNullable<operations['${id}']['parameters']['${location}']>`
  const defaults = here.filter(({ hasDefault }) => hasDefault).map(({ name }) => `'${name}'`)
  const full = defaults.length > 0 ? `WithDefaults<${all}, ${defaults.join(' | ')}>` : all
  return location === 'header' ? `LowerCase<${full}>` : full
}

function bodyType({ id, body }: Operation): string {
  if (body === undefined) return 'undefined'
  const type = body.mediaTypes.includes(json)
    ? `NonNullable<operations['${id}']['requestBody']>['content']['${json}']`
    : 'unknown'
  return body.required ? type : `${type} | undefined`
}

function answerType(id: string, { status, headers, mediaTypes }: Response): string {
  const own = headers.filter(({ setByServer }) => !setByServer)
  const declared = `operations['${id}']['responses'][${status}]`
  const names = own.map(
    ({ name, required }) => `'${name}'${required ? '' : '?'}: ${declared}['headers']['${name}']`,
  )
  const allOptional = own.every(({ required }) => !required)
  const headersType = own.length > 0 ? `; headers${allOptional ? '?' : ''}: { ${names.join('; ')} }` : ''
  const body = mediaTypes.includes(json) ? `; body: ${declared}['content']['${json}']` : ''
  return `{ status: ${status}${headersType}${body} }`
}
