// Names the functions of a contract: gives each part of it that is judged or written the name of its
// function, and lists the schema of each function.

import { stringify } from 'lossless-json'
import type {
  Body,
  Content,
  Contract,
  Header,
  Operation,
  Parameter,
  ParameterForm,
  Response,
  Schema,
  SentRequest,
} from '../../document/contract.js'
import type { FunctionName } from '../../document/functions.js'
import type { AnySchema } from '../../document/keywords.js'
import { partNames, requestParts } from '../../document/part-names.js'
import { isStream, kindOf } from '../../kinds/index.js'

/** The parts of a request, and a JSON value within a parameter, with what messages call each. */
export const requestPlaces = { ...partNames, json: 'content' } as const

export type RequestHow = keyof typeof requestPlaces

/**
 * How values are judged: as a part of a request; as a header of a response (the `value` of an object); as a
 * response's body; as what a receiver responds (the `body` of an object); or as a request's id.
 */
export type How = RequestHow | 'responseHeader' | 'responseBody' | 'received' | 'requestId'

export function isOfRequest(how: How): how is RequestHow {
  return how in requestPlaces
}

/** The schema of each function, by its name. */
export interface NamedSchemas {
  readonly judges: ReadonlyMap<FunctionName, { readonly how: How; readonly schema: AnySchema }>
  readonly writers: ReadonlyMap<FunctionName, AnySchema>
}

/** The parts of a contract that have functions. */
type Parts = Pick<Contract, 'operations' | 'webhooks' | 'callbacks'>

/**
 * Returns the parts of a contract with the names of their functions.
 * @param requestId the schema of a client's own `X-Request-Id`
 * @param document the document that the references in the schemas point into
 */
export function nameFunctions(
  { operations, webhooks, callbacks, requestId }: Parts & { readonly requestId: Schema },
  document: object,
): Parts & Pick<Contract, 'requestId'> & { readonly named: NamedSchemas } {
  const names = new Names(document)
  return {
    operations: mapped(operations, (each) => namedOperation(each, names)),
    webhooks: mapped(webhooks, (each) => namedRequest(each, names)),
    callbacks: mapped(callbacks, (requests) => mapped(requests, (each) => namedRequest(each, names))),
    requestId: names.judge('requestId', requestId),
    named: { judges: names.judges, writers: names.writers },
  }
}

function mapped<Key, From, To>(map: ReadonlyMap<Key, From>, to: (value: From) => To): Map<Key, To> {
  return new Map([...map].map(([key, value]) => [key, to(value)]))
}

/**
 * Gives equal schemas that are judged alike the same function: most operations share headers, parameters and
 * errors.
 */
class Names {
  readonly judges = new Map<FunctionName, { readonly how: How; readonly schema: AnySchema }>()
  readonly writers = new Map<FunctionName, AnySchema>()
  readonly #known = new Map<string, FunctionName>()

  constructor(readonly document: object) {}

  judge(how: How, schema: AnySchema): FunctionName {
    return this.#nameOf(how, schema, (name) => this.judges.set(name, { how, schema }))
  }

  writer(schema: AnySchema): FunctionName {
    return this.#nameOf('write', schema, (name) => this.writers.set(name, schema))
  }

  #nameOf(how: string, schema: AnySchema, add: (name: FunctionName) => unknown): FunctionName {
    const text = `${how} ${stringify(schema)}`
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const name = `${how}${this.#known.size}`
    this.#known.set(text, name)
    add(name)
    return name
  }
}

function namedOperation(operation: Operation, names: Names): Operation {
  const { parameters, body, responses } = operation
  return {
    ...operation,
    parameters: parameters.map((each) => namedParameter(each, names)),
    judges: partJudges(parameters, names),
    body: body && namedBody(body, names),
    responses: mapped(responses, (each) => namedResponse(each, names)),
  }
}

// An operation without query parameters accepts none, so it gets an empty object for them.
function partJudges(parameters: readonly Parameter[], names: Names): Operation['judges'] {
  const judges = requestParts.flatMap((part) => {
    const own = parametersSchema(parameters.filter((each) => each.in === partNames[part]))
    const schema = own ?? (part === 'querystring' ? { type: 'object' } : undefined)
    return schema === undefined ? [] : [[part, names.judge(part, schema)]]
  })
  return Object.fromEntries(judges)
}

// A parameter in JSON, and a whole query, have judges of their own.
function parametersSchema(here: readonly Parameter[]): Schema | undefined {
  if (here.length === 0) return undefined
  const properties = here.map(({ key, form, schema }) => [key, isSeparate(form) ? {} : schema])
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: here.filter(({ required }) => required).map(({ key }) => key),
  }
}

function isSeparate(form: ParameterForm | undefined): boolean {
  return form?.read === 'json' || form?.read === 'whole'
}

function namedParameter(parameter: Parameter, names: Names): Parameter {
  const { form, schema } = parameter
  if (form === undefined || !isSeparate(form)) return parameter
  const separate = form.content === undefined ? schema : form.content.schema
  return separate === undefined ? parameter : { ...parameter, judge: names.judge('json', separate) }
}

function namedBody(body: Body, names: Names): Body {
  const contents = body.contents.map((content) => {
    const { schema } = content
    if (schema === undefined)
      return isStream(content) ? { ...content, judge: names.judge('body', true) } : content
    const own = kindOf(content).received?.schemaOf?.(schema, content, names.document) ?? schema
    return { ...content, judge: names.judge('body', own) }
  })
  return { ...body, contents }
}

function namedResponse(response: Response, names: Names): Response {
  return {
    ...response,
    headers: response.headers.map((each) => namedHeader(each, names)),
    contents: response.contents.map((each) => namedContent(each, names)),
  }
}

function namedHeader<Each extends Pick<Header, 'schema'>>(header: Each, names: Names): Each {
  return { ...header, judge: names.judge('responseHeader', header.schema) }
}

function namedContent<Each extends Content>(content: Each, names: Names): Each {
  const { sent } = kindOf(content)
  const schema = isStream(content) ? (content.schema ?? true) : content.schema
  const inJson = sent?.inJson?.(content)
  return {
    ...content,
    ...(schema !== undefined && { judge: names.judge('responseBody', sent?.schemaOf?.(schema) ?? schema) }),
    ...(inJson !== undefined && { writer: names.writer(inJson.schema ?? true) }),
  }
}

// The service's request has headers and a body like a response of the service, and is judged like one. The
// receiver's response is judged as what is received.
function namedRequest(request: SentRequest, names: Names): SentRequest {
  const { parameters, body, responses } = request
  return {
    ...request,
    parameters: parameters.map((each) => namedHeader(each, names)),
    body: body && namedContent(body, names),
    responses: mapped(responses, (each) => ({ ...each, contents: each.contents.map(receivedContent) })),
  }

  function receivedContent(content: Content): Content {
    const { schema } = content
    return schema === undefined ? content : { ...content, judge: names.judge('received', schema) }
  }
}
