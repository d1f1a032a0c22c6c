// Reads Parameter Objects: how each value is serialized (`style`, `explode`, `content`). Refuses the
// combinations that OpenAPI leaves undefined.

import { allowedTypes } from '../../document/allowed-types.js'
import type { Parameter, ParameterForm } from '../../document/contract.js'
import { schemasIn, schemasOfValue, subschemasOf } from '../../document/keywords.js'
import { isJson } from '../../document/media-types.js'
import { pathParameterNames } from '../../document/names.js'
import { type Faults, found, type Node, nodeOf, type Reader } from '../../document/reader.js'
import { kindOf } from '../../kinds/index.js'
import { isToken } from '../../lib/field-values.js'
import { readContents } from './content.js'

type Shape = 'primitive' | 'array' | 'object' | 'any'
type ReadShape = Shape | 'primitiveOrArray'

// The styles of each location; the first is the default.
const styles: Readonly<Record<string, readonly ParameterForm['style'][]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form', 'cookie'],
}

// OpenAPI 3.1.1, section 4.8.12.2.1: these headers are ignored as parameters, because responses, bodies and
// security declare them.
const ignoredHeaders = ['accept', 'content-type', 'authorization']

/** True if a parameter is a header that OpenAPI ignores among parameters. */
export function isIgnoredParameter({ in: location, name }: Node): boolean {
  return location === 'header' && ignoredHeaders.includes(String(name).toLowerCase())
}

/**
 * Reads and checks the parameters of an operation: its own, and those of its path item that it does not
 * override.
 */
export function readParameters(
  reader: Reader,
  place: string,
  path: string,
  item: Node,
  node: Node,
): Parameter[] {
  const names = reader.list(node.parameters).map(identity)
  for (const name of names.filter((each, index) => names.indexOf(each) < index)) {
    reader.problem(`${place}: the parameter ${name} is declared twice`)
  }
  const effective = effectiveParameters(reader, item, node)
  checkQuerystring(reader, place, effective)
  const parameters = effective.map((each) =>
    readParameter(reader, `${place}: the ${each.in} parameter ${each.name}`, path, each),
  )
  checkNames(reader, place, parameters)
  for (const name of pathParameterNames(path)) {
    if (!parameters.some((each) => each.in === 'path' && each.name === name))
      reader.problem(`${place}: the path parameter ${name} is not declared`)
  }
  return parameters.map((each) => withTaken(each, parameters))
}

/**
 * Returns the Parameter Objects of an operation: its own, and those of its path item that it does not
 * override.
 */
export function effectiveParameters(reader: Reader, item: Node, node: Node): Node[] {
  const own = reader.list(node.parameters)
  const names = own.map(identity)
  const inherited = reader.list(item.parameters).filter((each) => !names.includes(identity(each)))
  return [...inherited, ...own].filter((each) => !isIgnoredParameter(each))
}

// Header names are case-insensitive.
function identity({ name, in: location }: Node): string {
  return `${location}.${keyOf(String(name), String(location))}`
}

function keyOf(name: string, location: string): string {
  return location === 'header' ? name.toLowerCase() : name
}

// OpenAPI 3.2, Parameter Object: the whole query is one parameter.
function checkQuerystring(reader: Reader, place: string, parameters: readonly Node[]): void {
  const [whole, ...others] = parameters.filter((each) => each.in === 'querystring')
  const parts = parameters.filter((each) => each.in === 'query')
  const [other] = [...others, ...parts]
  if (whole !== undefined && other !== undefined)
    reader.problem(
      `${place}: ${whole.name} is in the querystring, and so must be alone: remove ${other.name}`,
    )
}

function readParameter(reader: Reader, place: string, path: string, node: Node): Parameter {
  if (node.in === 'querystring') return readQuerystring(reader, place, node)
  const name = String(node.name)
  const location = String(node.in)
  const problem = (text: string) => reader.problem(`${place} ${text}`)
  const unsupported = (text: string) => reader.unsupported(`${place} ${text}`)
  if (styles[location] === undefined) problem('must be in path, query, querystring, header or cookie')
  // Every JavaScript object inherits these, so validation would not notice that the parameter is missing.
  if (name === '__proto__' || (location === 'header' && name.toLowerCase() === 'constructor')) {
    problem('has a name that JavaScript reserves')
  }
  if (['header', 'cookie'].includes(location) && !isToken(name))
    unsupported('has a name that HTTP does not allow')
  const hasContent = node.content !== undefined
  // A schema for JSON keeps its `$ref`s, except at the top, where its default is read.
  const schema = (
    hasContent ? reader.node(contentSchema(reader, unsupported, node)) : reader.dereferenced(node.schema)
  ) as Node
  return {
    name,
    key: keyOf(name, location),
    in: location,
    required: node.required === true,
    hasDefault: schema.default !== undefined,
    schema,
    form: hasContent ? jsonForm : readForm(unsupported, path, node, schema),
  }
}

function readQuerystring(reader: Reader, place: string, node: Node): Parameter {
  const [media, ...others] = Object.entries(reader.node(node.content))
  if (media === undefined || others.length > 0 || node.schema !== undefined)
    reader.problem(`${place} must have content with one media type, and no schema`)
  const [content] = readContents(reader, place, node.content, 'request')
  if (content !== undefined && kindOf(content).received?.query === undefined)
    reader.unsupported(
      `${place} has content of type ${content.mediaType}: only JSON, forms and text are supported`,
    )
  const schema = nodeOf(content?.schema)
  const form = content && { ...jsonForm, style: 'whole' as const, read: 'whole' as const, content }
  const name = String(node.name)
  return {
    name,
    key: name,
    in: 'query',
    required: node.required === true,
    hasDefault: false,
    schema,
    form,
  }
}

const jsonForm: ParameterForm = { style: 'json', explode: false, read: 'json', names: [], taken: [] }

type Note = (text: string) => void

function contentSchema(reader: Reader, unsupported: Note, { content, schema }: Node): unknown {
  const [[mediaType, media] = ['nothing', {}], ...others] = Object.entries(reader.node(content))
  if (schema !== undefined || others.length > 0)
    unsupported('must have either schema or content with one media type')
  else if (!isJson(mediaType)) unsupported(`has content of type ${mediaType}: only JSON is supported`)
  return reader.node(media).schema ?? {}
}

function readForm(unsupported: Note, path: string, node: Node, schema: Node): ParameterForm | undefined {
  const location = String(node.in)
  const shapes = shapesOf(schema)
  const shape = shapeOf(shapes)
  const form = formOf(location, node, schema, shape)
  const { style, allowEmptyValue } = form
  const known = styles[location] ?? [style]
  const [fault] = found([
    [!known.includes(style), `cannot have the style ${style}: use ${known.join(' or ')}`],
    [
      shape === undefined,
      'allows an object and another type, which its text does not distinguish: use content',
    ],
    [hasNested(schema), 'contains nested arrays or objects, for which OpenAPI has no style: use content'],
    [namesOf(schema).includes('__proto__'), 'has the property __proto__, a name that JavaScript reserves'],
    [
      allowEmptyValue === true && node.required === true,
      'cannot be both required and allowEmptyValue: an empty value counts as absent',
    ],
    ...undefinedCombinations(location, form),
    ...(location === 'path' ? undefinedPlaces(path, String(node.name), form) : []),
  ])
  if (fault !== undefined) unsupported(fault)
  return isPlain(location, form, shapes) ? undefined : form
}

function formOf(location: string, node: Node, schema: Node, shape: ReadShape = 'primitive'): ParameterForm {
  const [ownStyle = 'simple'] = styles[location] ?? []
  const style = (node.style ?? ownStyle) as ParameterForm['style']
  const explode = (node.explode ?? ['form', 'cookie', 'deepObject'].includes(style)) as boolean
  return {
    style,
    explode,
    read: readingOf(location, style, explode, shape),
    separator: style === 'label' && explode ? '.' : (separators[style as keyof typeof separators] ?? ','),
    names: shape === 'object' ? namesOf(schema) : [],
    taken: [],
    isOpen: style === 'matrix' || (location === 'query' && allowsAdditional(schema)),
    allowEmptyValue: location === 'query' && node.allowEmptyValue === true,
  }
}

const separators = { spaceDelimited: ' ', pipeDelimited: '|' } as const

function readingOf(
  location: string,
  style: ParameterForm['style'],
  explode: boolean,
  shape: ReadShape,
): ParameterForm['read'] {
  const areApart = explode && ['form', 'cookie', 'matrix'].includes(style)
  if (shape === 'array') return areApart ? 'repeated' : location === 'header' ? 'headerList' : 'list'
  if (shape === 'primitiveOrArray') return 'oneOrRepeated'
  if (shape !== 'object') return 'text'
  if (style === 'deepObject') return 'deepFields'
  return areApart ? 'fields' : explode ? 'pairs' : 'turns'
}

// Refuses combinations without an example in OpenAPI 3.1.1, section 4.8.12.6.
function undefinedCombinations(location: string, { style, explode, read, names }: ParameterForm): Faults {
  const isDelimited = style === 'spaceDelimited' || style === 'pipeDelimited'
  const isExplodedForm = (style === 'form' || style === 'cookie') && explode
  return [
    [isDelimited && explode, `cannot have the style ${style} with explode: true`],
    [isDelimited && read === 'text', `has the style ${style}, which is for arrays and objects`],
    [style === 'deepObject' && !explode, 'cannot have the style deepObject with explode: false'],
    [style === 'deepObject' && read !== 'deepFields', 'has the style deepObject, which is for objects'],
    [
      location === 'cookie' && style === 'form' && explode && read !== 'text',
      'must have explode: false or style: cookie, because a cookie has a single value',
    ],
    [
      style === 'cookie' && read === 'fields' && names.length === 0,
      'must name its properties, because browsers send other cookies',
    ],
    [
      read === 'oneOrRepeated' && !isExplodedForm,
      'allows an array and a primitive, which its text does not distinguish: use content',
    ],
  ]
}

// The delimiters of a styled value could not be told from the rest of its path segment.
function undefinedPlaces(path: string, name: string, { style, read }: ParameterForm): Faults {
  const segment = path.split('/').find((each) => each.includes(`{${name}}`)) ?? ''
  const isStyled = style !== 'simple' || read !== 'text'
  return [[isStyled && segment.split('{').length > 2, 'must be the only parameter in its path segment']]
}

// True if the router or the query parser reads the value as it is. The query parser would turn a repeated
// value into an array, whatever its type.
function isPlain(location: string, form: ParameterForm, shapes: ReadonlySet<Shape>): boolean {
  if (location === 'cookie' || form.read !== 'text' || form.allowEmptyValue) return false
  return location === 'query' ? !shapes.has('any') : form.style === 'simple'
}

// Returns undefined if the text does not tell the shapes apart. It can tell a primitive from an array if each
// element is a pair of its own (exploded form).
function shapeOf(shapes: ReadonlySet<Shape>): ReadShape | undefined {
  if (shapes.size === 1) return [...shapes][0]
  return shapes.has('object') ? undefined : shapes.has('array') ? 'primitiveOrArray' : 'primitive'
}

/**
 * Returns the shapes that a schema allows, as far as styles distinguish them. Null has no style and is left
 * out.
 */
export function shapesOf(schema: unknown): ReadonlySet<Shape> {
  const types = allowedTypes(nodeOf(schema))
  if (types === undefined) return new Set<Shape>(['any'])
  return new Set(types.filter((type) => type !== 'null').map(shapeOfType))
}

function shapeOfType(type: string): Shape {
  return type === 'array' || type === 'object' ? type : 'primitive'
}

function hasNested(schema: Node): boolean {
  const inner = schemasOfValue(schema)
    .flatMap(subschemasOf)
    .filter(({ appliesTo, isCondition }) => appliesTo === 'members' && !isCondition)
  return inner.some(({ schema: each }) =>
    allowedTypes(each)?.some((type) => type === 'array' || type === 'object'),
  )
}

// Includes the properties that only a condition names.
function namesOf(schema: Node): string[] {
  const all = schemasIn(schema, ({ appliesTo }) => appliesTo === 'value')
  return [...new Set(all.flatMap(({ properties }) => Object.keys(nodeOf(properties))))]
}

const ofOthers = ['additionalProperties', 'unevaluatedProperties', 'patternProperties']

// A schema without properties allows any.
function allowsAdditional(schema: Node): boolean {
  const isSchemaGiven = schemasOfValue(schema).some((part) =>
    ofOthers.some((keyword) => part[keyword] !== undefined && part[keyword] !== false),
  )
  return isSchemaGiven || namesOf(schema).length === 0
}

// Each property of an exploded object is sent as a query parameter, so no other parameter may have its name.
function checkNames(reader: Reader, place: string, parameters: readonly Parameter[]): void {
  const query = parameters.filter((each) => each.in === 'query')
  const owners = new Map<string, string>()
  const deep = query.filter(({ form }) => form?.read === 'deepFields')
  for (const { name, form } of query) {
    const other = deep.find((each) => name.startsWith(`${each.name}[`))
    if (other)
      reader.unsupported(`${place}: the query parameters ${other.name} and ${name} both match ${name}`)
    for (const each of form?.read === 'fields' ? form.names : [name]) {
      const other = owners.get(each)
      if (other !== undefined)
        reader.unsupported(`${place}: the query parameters ${other} and ${name} both match ${each}`)
      owners.set(each, name)
    }
  }
  const open = query.filter(({ form }) => form?.read === 'fields' && form.isOpen).map(({ name }) => name)
  if (open.length > 1) {
    reader.unsupported(
      `${place}: the query parameters ${open.join(' and ')} each match any name: use the style deepObject`,
    )
  }
}

// Gives a parameter whose fields are query parameters the names of the other parameters, which are no fields
// of it.
function withTaken(parameter: Parameter, all: readonly Parameter[]): Parameter {
  const { in: location, form } = parameter
  if (form?.read !== 'fields' || location !== 'query') return parameter
  const others = all.filter((each) => each.in === 'query' && each !== parameter)
  const taken = others.flatMap(({ name, form: other }) => {
    if (other?.read === 'deepFields') return `${name}[`
    return other?.read === 'fields' ? other.names : name
  })
  return { ...parameter, form: { ...form, taken } }
}
