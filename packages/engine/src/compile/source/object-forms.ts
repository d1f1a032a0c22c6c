// Defines what each field of a document must be (OpenAPI 3.2.0, section 4; JSON Schema 2020-12): an object, a
// list, a text. All readers of a document rely on it. Fields that both leave open may be anything: examples,
// defaults, `x-` and unknown keywords. Ajv judges the numbers and the names of types in a schema.

import { isNode, schemaKeywords } from '../../document/keywords.js'
import { methodFields } from '../../document/methods.js'

/** What a value of a document must be. */
export interface Form {
  /** The form in words: `a text`. */
  readonly noun: string
  accepts(value: unknown): boolean
  /** Returns the form of a member or an item; undefined where anything may stand. */
  inner(key: string): Form | undefined
  /** The names of an object's fields. A map has none here, because it may have any. */
  readonly fields: readonly string[]
  /** The fields that an object must have. */
  readonly needs: readonly string[]
  /** True if a `$ref` to an object of this form may stand in its place. */
  readonly isReferable: boolean
  /** True if its keys are names. A key `$ref` whose value is a string leads to another map. */
  readonly isMap: boolean
}

const plain = { fields: [], needs: [], isReferable: false, isMap: false }

function scalar(noun: string, accepts: Form['accepts']): Form {
  return { ...plain, noun, accepts, inner: () => undefined }
}

function isScalarOr(types: readonly string[], accepts: Form['accepts']): Form['accepts'] {
  return (value) => value === null || types.includes(typeof value) || accepts(value)
}

const anything = scalar('', () => true)
// A field without a value (`description:`) is null in YAML, and counts as absent.
const text = scalar('a text', (value) => typeof value === 'string' || value === null)
const name = scalar('a text', (value) => typeof value === 'string')
const flag = scalar('true or false', (value) => typeof value === 'boolean' || value === null)
const number = scalar('a number', (value) => typeof value !== 'object' || value === null)
// People leave off the quotes of a version, and of the values of a server's variable, as in `port: 8080`.
const word = scalar('a text', (value) => typeof value !== 'object' || value === null)
const schemaName = scalar('the name of a schema or a $ref', (value) => typeof value === 'string')
const values = scalar('a list of values', Array.isArray)
const names = { ...list(name), noun: 'a list of names' }
// Older drafts have a boolean.
const required = { ...names, accepts: isScalarOr(['boolean'], names.accepts) }
const type = {
  ...names,
  noun: 'the name of a type, or a list of names',
  accepts: isScalarOr(['string'], names.accepts),
}

// A function in place of a form, for objects that contain each other.
type Later = Form | (() => Form)

function now(form: Later | undefined): Form | undefined {
  return typeof form === 'function' ? form() : form
}

function list(item: Later): Form {
  return { ...plain, noun: 'a list', accepts: Array.isArray, inner: () => now(item) }
}

// The keys of a map are names. In an extensible map, a key that begins with x- is an extension.
function map(member: Later, isExtensible = false): Form {
  const inner = (key: string) => (isExtensible && key.startsWith('x-') ? undefined : now(member))
  return { ...plain, noun: 'an object', accepts: isNode, inner, isMap: true }
}

type Fields = Readonly<Record<string, Later>>

function object(forms: Fields, { needs = [], isReferable = false }: Partial<Form> = {}): Form {
  const known = new Map(Object.entries(forms))
  const inner = (key: string) => (key === '$ref' && isReferable ? name : now(known.get(key)))
  const fields = [...known.keys()]
  return { ...plain, noun: 'an object', accepts: isNode, inner, fields, needs, isReferable }
}

function all(names: string, form: Later): Fields {
  return Object.fromEntries(names.split(' ').map((each) => [each, form]))
}

const referable = { isReferable: true }

const schemas = { one: () => schema, list: list(() => schema), map: map(() => schema) }

const applicators: Fields = Object.fromEntries(
  [...schemaKeywords].map(([keyword, { holds }]) => [keyword, schemas[holds]]),
)

const schema: Form = {
  ...object(
    {
      ...applicators,
      items: () => items,
      ...all('$id $schema $anchor $dynamicRef $dynamicAnchor title description', text),
      ...all('format pattern contentMediaType contentEncoding', text),
      ...all('readOnly writeOnly deprecated nullable uniqueItems', flag),
      ...all('minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength', number),
      ...all('minItems maxItems minContains maxContains minProperties maxProperties', number),
      ...all(
        'example examples default const xml externalDocs $comment $vocabulary additionalItems',
        anything,
      ),
      type,
      required,
      enum: values,
      dependentRequired: map(names),
      discriminator: object(
        { propertyName: name, mapping: map(schemaName), defaultMapping: text },
        { needs: ['propertyName'] },
      ),
    },
    referable,
  ),
  noun: 'a schema: an object, true or false',
  accepts: (value) => isNode(value) || typeof value === 'boolean',
}

// Older drafts have a list.
const items: Form = {
  ...schema,
  accepts: (value) => schema.accepts(value) || Array.isArray(value),
  inner: (key) => (/^\d+$/.test(key) ? schema : schema.inner(key)),
}

// Some libraries write null for an absent object.
function optional(form: Form): Form {
  return { ...form, accepts: (value) => value === null || form.accepts(value) }
}

const externalDocs = optional(object(all('url description', text)))

const server = object(
  {
    ...all('description name', text),
    url: name,
    variables: map(object({ default: word, description: text, enum: list(word) })),
  },
  { needs: ['url'] },
)

const security: Form = {
  ...list(map({ ...list(name), noun: 'a list of scopes, [] for none' })),
  noun: 'a list of objects, such as [{ key: [] }]',
}

const example = object(
  { ...all('summary description externalValue', text), ...all('value dataValue serializedValue', anything) },
  referable,
)

const content = map(() => mediaType)

const valued: Fields = { schema, content, example: anything, examples: map(example) }

const styled: Fields = { ...all('style', text), ...all('explode allowReserved', flag) }

const headerFields: Fields = {
  ...valued,
  ...styled,
  description: text,
  ...all('required deprecated allowEmptyValue', flag),
}

const header = object(headerFields, referable)

const parameter = object(
  { ...headerFields, ...all('name in', name) },
  { ...referable, needs: ['name', 'in'] },
)

const encodings: Fields = {
  encoding: map(() => encoding),
  prefixEncoding: list(() => encoding),
  itemEncoding: () => encoding,
}

const encoding: Form = object({ ...styled, ...encodings, contentType: text, headers: map(header) })

const mediaType: Form = object(
  { ...encodings, schema, itemSchema: schema, example: anything, examples: map(example) },
  referable,
)

const requestBody = object({ description: text, required: flag, content }, referable)

const link = object(
  {
    ...all('operationRef operationId description', text),
    parameters: map(anything),
    requestBody: anything,
    server,
  },
  referable,
)

const response = object(
  { ...all('summary description', text), headers: map(header), content, links: map(link) },
  referable,
)

const callback: Form = { ...map(anything, true), isReferable: true, inner: pathInCallback }

// The keys of a callback are URLs.
function pathInCallback(key: string): Form | undefined {
  if (key === '$ref') return name
  return key.startsWith('x-') ? undefined : pathItem
}

const operation = object({
  ...all('summary description', text),
  operationId: name,
  tags: list(word),
  externalDocs,
  parameters: list(parameter),
  requestBody,
  responses: map(response, true),
  callbacks: map(callback),
  deprecated: flag,
  security,
  servers: list(server),
})

const pathItem: Form = object(
  {
    ...all('summary description', text),
    ...all(methodFields.join(' '), operation),
    additionalOperations: map(operation),
    servers: list(server),
    parameters: list(parameter),
  },
  referable,
)

const flow = object({
  ...all('authorizationUrl tokenUrl refreshUrl deviceAuthorizationUrl', text),
  scopes: map(text),
})

const securityScheme = object(
  {
    ...all('description name in scheme bearerFormat openIdConnectUrl oauth2MetadataUrl', text),
    type: name,
    deprecated: flag,
    flows: object(all('implicit password clientCredentials authorizationCode deviceAuthorization', flow)),
  },
  { ...referable, needs: ['type'] },
)

const components = object({
  schemas: map(schema),
  responses: map(response),
  parameters: map(parameter),
  examples: map(example),
  requestBodies: map(requestBody),
  headers: map(header),
  securitySchemes: map(securityScheme),
  links: map(link),
  callbacks: map(callback),
  pathItems: map(pathItem),
  mediaTypes: map(mediaType),
})

const info = object({
  ...all('title summary description termsOfService', text),
  version: word,
  contact: optional(object(all('name url email', text))),
  license: optional(object(all('name url identifier', text))),
})

const tag = object(
  { ...all('summary description parent kind', text), name: word, externalDocs },
  { needs: ['name'] },
)

/** The form of a document. Its version has been checked before, and its own extensions are read elsewhere. */
export const documentForm: Form = object({
  ...all('openapi $self jsonSchemaDialect', anything),
  info,
  servers: list(server),
  paths: map(pathItem, true),
  webhooks: map(pathItem),
  components,
  security,
  tags: list(tag),
  externalDocs,
})
