// What each operation takes and may answer, for its handler. Beside openapi-typescript's own types: a parameter
// with a default is always there, and an answer is one of a closed set of statuses, each with its body.

import type { Contract, Operation, Response } from '../../src/contract/types.js'
import { isJson } from '../../src/schemas/media-types.js'
import { header } from './header.js'

/** The text of generated/operations.ts. */
export function generateOperations(contract: Contract): string {
  const { operations, hasOneWayFields, describesErrors } = contract
  const ordered = [...operations.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  const members = ordered.map((operation) => operationType(operation, hasOneWayFields))
  const imports = [
    ...(describesErrors ? ['components'] : []),
    ...(ordered.length > 0 ? ['operations'] : []),
    ...(hasOneWayFields ? ['Readable', 'Writable'] : []),
  ]
  return `${header}import type { ${imports.join(', ')} } from './types.js'

/** Parameters with a default are always there. */
export type WithDefaults<Parameters, Names extends keyof Parameters> = Omit<Parameters, Names> & Required<Pick<Parameters, Names>>

/** Node gives the names of headers in lower case. */
export type LowerCase<Headers> = { [Name in keyof Headers as Lowercase<Name & string>]: Headers[Name] }

/** What each operation takes, and the answers that the contract declares for it. */
export interface Operations {
${members.join('\n')}
}

export type OperationId = keyof Operations

${errorTypes(contract)}`
}

// Where the contract does not speak of them, errors are as the server has them by itself.
function errorTypes({ describesErrors, errorStatuses }: Contract): string {
  const [code, body] = describesErrors
    ? [`components['schemas']['ErrorCode']`, `components['schemas']['Error']`]
    : [
        [...errorStatuses.keys()].map(quote).join(' | '),
        '{ code: ErrorCode; message: string; status: number }',
      ]
  return `/** The machine-readable codes of errors. */
export type ErrorCode = ${code}

/** The body of every error. */
export type ErrorBody = ${body}
`
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function operationType(operation: Operation, hasOneWayFields: boolean): string {
  const { name } = operation
  const answers = [...operation.responses.values()].filter(({ status }) => /^\d{3}$/.test(status))
  return `  ${name}: {
    request: {
      params: ${parametersType(operation, 'path', hasOneWayFields)}
      query: ${parametersType(operation, 'query', hasOneWayFields)}
      headers: ${parametersType(operation, 'header', hasOneWayFields)}
      cookies: ${parametersType(operation, 'cookie', hasOneWayFields)}
      body: ${bodyType(operation, hasOneWayFields)}
    }
    response:
${answers.map((response) => `      | ${answerType(operation, response, hasOneWayFields)}`).join('\n') || '      never'}
  }`
}

function parametersType(
  { id, parameters }: Operation,
  location: 'path' | 'query' | 'header' | 'cookie',
  hasOneWayFields: boolean,
): string {
  const here = parameters.filter((parameter) => parameter.in === location)
  if (here.length === 0) return 'Record<never, never>'
  const all = `NonNullable<operations[${quote(id)}]['parameters']['${location}']>`
  const defaults = here.filter(({ hasDefault }) => hasDefault).map(({ name }) => quote(name))
  const given = hasOneWayFields ? `Writable<${all}>` : all
  const full = defaults.length > 0 ? `WithDefaults<${given}, ${defaults.join(' | ')}>` : given
  return location === 'header' ? `LowerCase<${full}>` : full
}

// JSON as what it stands for, anything else as bytes.
function bodyType({ id, body }: Operation, hasOneWayFields: boolean): string {
  if (body === undefined) return 'undefined'
  const types = body.mediaTypes.map((mediaType) => {
    if (!isJson(mediaType)) return 'Uint8Array'
    const type = `NonNullable<operations[${quote(id)}]['requestBody']>['content'][${quote(mediaType)}]`
    return hasOneWayFields ? `Writable<${type}>` : type
  })
  return [...new Set([...types, ...(body.required ? [] : ['undefined'])])].join(' | ')
}

function answerType({ id }: Operation, response: Response, hasOneWayFields: boolean): string {
  const { status, headers } = response
  const own = headers.filter(({ setByServer }) => !setByServer)
  const declared = `operations[${quote(id)}]['responses'][${status}]`
  const names = own.map(
    ({ name, required }) => `${quote(name)}${required ? '' : '?'}: ${declared}['headers'][${quote(name)}]`,
  )
  const allOptional = own.every(({ required }) => !required)
  const headersType = own.length > 0 ? `; headers${allOptional ? '?' : ''}: { ${names.join('; ')} }` : ''
  const body = answerBody(declared, response, hasOneWayFields)
  return `{ status: ${status}${headersType}${body && `; body: ${body}`} }`
}

// Of several types the first of JSON counts, else the first.
function answerBody(declared: string, { mediaTypes }: Response, hasOneWayFields: boolean): string {
  const json = mediaTypes.find(isJson)
  if (json === undefined) return mediaTypes.length > 0 ? 'string | Uint8Array' : ''
  const type = `${declared}['content'][${quote(json)}]`
  return hasOneWayFields ? `Readable<${type}>` : type
}
