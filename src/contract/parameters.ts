// The parameters of an operation: where each stands, how its value is written there (`style`, `explode`, `content`), and
// what OpenAPI leaves undefined of that, which no server could read.

import { isToken, namesIn } from './names.js'
import { type Node, nodeOf, type Reader } from './reader.js'
import type { Parameter, ParameterForm } from './types.js'

type Shape = 'text' | 'list' | 'object' | 'any'

// The first is the default.
const styles: Readonly<Record<string, readonly ParameterForm['style'][]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
}

// OpenAPI 3.1.1, section 4.8.12.2.1: such a parameter is ignored, for security, responses and bodies speak of them.
const ignoredHeaders = ['accept', 'content-type', 'authorization']

/** Whether a parameter only describes what the contract says elsewhere. */
export function isIgnoredParameter({ in: location, name }: Node): boolean {
  return location === 'header' && ignoredHeaders.includes(String(name).toLowerCase())
}

/** Reads and checks the parameters of an operation: its own, and those of its path that it does not replace. */
export function readParameters(
  reader: Reader,
  place: string,
  path: string,
  item: Node,
  node: Node,
): Parameter[] {
  const own = reader.list(node.parameters)
  const names = own.map(identity)
  for (const name of names.filter((each, index) => names.indexOf(each) < index)) {
    reader.problem(`${place}: two parameters are called ${name}`)
  }
  const inherited = reader.list(item.parameters).filter((each) => !names.includes(identity(each)))
  const parameters = [...inherited, ...own]
    .filter((each) => !isIgnoredParameter(each))
    .map((each) => readParameter(reader, `${place}: the ${each.in} parameter ${each.name}`, path, each))
  checkNames(reader, place, parameters)
  for (const name of namesIn(path)) {
    if (!parameters.some((each) => each.in === 'path' && each.name === name))
      reader.problem(`${place}: its path has the parameter ${name}, which is not declared`)
  }
  return parameters
}

// Names of headers are the same in either case.
function identity({ name, in: location }: Node): string {
  return `${location}.${location === 'header' ? String(name).toLowerCase() : name}`
}

function readParameter(reader: Reader, place: string, path: string, node: Node): Parameter {
  const name = String(node.name)
  const location = String(node.in)
  const problem = (text: string) => reader.problem(`${place} ${text}`)
  const unread = (text: string) => reader.unread(`${place} ${text}`)
  if (styles[location] === undefined) problem('is in no place that a parameter can be in')
  // What every object of JavaScript has of its own is not seen to be missing.
  if (name === '__proto__' || (location === 'header' && name.toLowerCase() === 'constructor')) {
    problem('has a name that JavaScript keeps for itself')
  }
  if (['header', 'cookie'].includes(location) && !isToken(name)) unread('has a name that HTTP does not allow')
  const isJson = node.content !== undefined
  // Of JSON the default is looked for in the schema itself.
  const schema = (
    isJson ? reader.node(contentSchema(reader, unread, node)) : reader.inlined(node.schema)
  ) as Node
  return {
    name,
    in: location,
    required: node.required === true,
    hasDefault: schema.default !== undefined,
    schema,
    form: isJson ? jsonForm : readForm(unread, path, node, schema),
  }
}

const jsonForm: ParameterForm = {
  style: 'json',
  explode: false,
  shape: 'text',
  names: [],
  takesOthers: false,
  isEmptyAbsent: false,
}

type Note = (text: string) => void

function contentSchema(reader: Reader, unread: Note, { content, schema }: Node): unknown {
  const [[mediaType, media] = ['nothing', {}], ...others] = Object.entries(reader.node(content))
  if (schema !== undefined || others.length > 0) unread('must have either a schema or one content')
  else if (!/^application\/([^;]+\+)?json$/i.test(mediaType))
    unread(`cannot be ${mediaType}: only JSON is read`)
  return reader.node(media).schema ?? {}
}

function readForm(unread: Note, path: string, node: Node, schema: Node): ParameterForm | undefined {
  const location = String(node.in)
  const [ownStyle = 'simple'] = styles[location] ?? []
  const style = (node.style ?? ownStyle) as ParameterForm['style']
  const explode = (node.explode ?? (style === 'form' || style === 'deepObject')) as boolean
  const shapes = shapesOf(schema)
  const shape = shapeOf(shapes)
  const form: ParameterForm = {
    style,
    explode,
    shape: shape ?? 'text',
    names: shape === 'object' ? [...new Set(propertiesOf(schema).map(([name]) => name))] : [],
    takesOthers: shape === 'object' && takesOthers(schema),
    isEmptyAbsent: location === 'query' && node.allowEmptyValue === true,
  }
  const faults: [isFault: boolean, text: string][] = [
    [!(styles[location] ?? [style]).includes(style), `cannot have the style ${style} there`],
    [shape === undefined, 'may be of several shapes, and its text does not tell which: use content'],
    [holdsNested(schema), 'holds lists or objects within one, for which OpenAPI has no style: use content'],
    [
      propertiesOf(schema).some(([name]) => name === '__proto__'),
      'has a field __proto__, which JavaScript keeps',
    ],
    [
      form.isEmptyAbsent && node.required === true,
      'is required, but by allowEmptyValue an empty one is none',
    ],
    ...undefinedCombinations(location, form),
    ...(location === 'path' ? undefinedPlaces(path, String(node.name), form) : []),
  ]
  const fault = faults.find(([isFault]) => isFault)
  if (fault !== undefined) unread(fault[1])
  return isPlain(location, form, shapes) ? undefined : form
}

// OpenAPI 3.1.1, section 4.8.12.6, has no value for these.
function undefinedCombinations(
  location: string,
  { style, explode, shape }: ParameterForm,
): [isFault: boolean, text: string][] {
  const isDelimited = style === 'spaceDelimited' || style === 'pipeDelimited'
  const isExplodedForm = style === 'form' && explode
  return [
    [isDelimited && explode, `cannot have the style ${style} with explode: true`],
    [isDelimited && shape === 'text', `has the style ${style}, which is for lists and objects`],
    [style === 'deepObject' && !explode, 'cannot have the style deepObject with explode: false'],
    [style === 'deepObject' && shape !== 'object', 'has the style deepObject, which is for objects'],
    [
      location === 'cookie' && explode && shape !== 'text',
      'must have explode: false, for a cookie is one value',
    ],
    [
      shape === 'textOrList' && !isExplodedForm,
      'may be a list or one text, and its text does not tell which',
    ],
  ]
}

// What is beside it in its segment would have to be told from its own delimiters.
function undefinedPlaces(
  path: string,
  name: string,
  { style, shape }: ParameterForm,
): [isFault: boolean, text: string][] {
  const segment = path.split('/').find((each) => each.includes(`{${name}}`)) ?? ''
  const isStyled = style !== 'simple' || shape !== 'text'
  return [[isStyled && segment.split('{').length > 2, 'must be the only one in its segment of the path']]
}

// Read by the router and the query parser as it is; of a value that may be anything, they would make a list.
function isPlain(location: string, form: ParameterForm, shapes: ReadonlySet<Shape>): boolean {
  if (location === 'cookie' || form.shape !== 'text' || form.isEmptyAbsent) return false
  return location === 'query' ? !shapes.has('any') : form.style === 'simple'
}

// A text or a list of them can be told apart where each element is written by itself.
function shapeOf(shapes: ReadonlySet<Shape>): ParameterForm['shape'] | undefined {
  if (shapes.size === 1) {
    const [only] = shapes
    return only === 'any' ? 'text' : only
  }
  return shapes.has('object') ? undefined : shapes.has('list') ? 'textOrList' : 'text'
}

/** What a value may be to a style; of null none speaks. */
export function shapesOf(schema: unknown): ReadonlySet<Shape> {
  const { type, enum: values, const: value, allOf, anyOf, oneOf, ...others } = nodeOf(schema)
  const types = type === undefined ? [] : [type].flat().filter((each) => each !== 'null' || type === 'null')
  if (types.length > 0) return new Set(types.map(shapeOfType))
  const allowed = Array.isArray(values) ? values : value === undefined ? [] : [value]
  if (allowed.length > 0) return new Set(allowed.filter((each) => each !== null).map(shapeOfValue))
  const either = [...list(anyOf), ...list(oneOf)].filter((each) => nodeOf(each).type !== 'null')
  const choices = [...new Set(either.flatMap((each) => [...shapesOf(each)]))]
  const known = [choices, ...list(allOf).map((each) => [...shapesOf(each)])].filter(
    (each) => each.length > 0 && !each.includes('any'),
  )
  if (known.length > 0) return new Set(known.reduce((a, b) => a.filter((each) => b.includes(each))))
  if (['properties', 'additionalProperties', 'patternProperties'].some((each) => each in others)) {
    return new Set<Shape>(['object'])
  }
  return new Set<Shape>(['items', 'prefixItems'].some((each) => each in others) ? ['list'] : ['any'])
}

function shapeOfType(type: unknown): Shape {
  if (type === 'array') return 'list'
  return type === 'object' ? 'object' : 'text'
}

function shapeOfValue(value: unknown): Shape {
  if (Array.isArray(value)) return 'list'
  return typeof value === 'object' ? 'object' : 'text'
}

function holdsNested(schema: Node): boolean {
  const inner = parts(schema).flatMap(({ items, prefixItems, additionalProperties, patternProperties }) => [
    ...[items, additionalProperties].filter((each) => each !== undefined),
    ...list(prefixItems),
    ...Object.values(nodeOf(patternProperties)),
  ])
  const all = [...inner, ...propertiesOf(schema).map(([, each]) => each)]
  return all.some((each) => [...shapesOf(each)].some((shape) => shape === 'list' || shape === 'object'))
}

function propertiesOf(schema: Node): [name: string, schema: unknown][] {
  return parts(schema).flatMap(({ properties }) => Object.entries(nodeOf(properties)))
}

// One that names no fields has them all.
function takesOthers(schema: Node): boolean {
  const saysSo = parts(schema).some(
    ({ additionalProperties: others, patternProperties }) =>
      (others !== undefined && others !== false) || patternProperties !== undefined,
  )
  return saysSo || propertiesOf(schema).length === 0
}

function parts(schema: Node): Node[] {
  const { allOf, anyOf, oneOf } = schema
  return [schema, ...[...list(allOf), ...list(anyOf), ...list(oneOf)].flatMap((each) => parts(nodeOf(each)))]
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

// The fields of an exploded object are query parameters like any.
function checkNames(reader: Reader, place: string, parameters: readonly Parameter[]): void {
  const query = parameters.filter((each) => each.in === 'query')
  const owners = new Map<string, string>()
  const deep = query.filter(({ form }) => form?.style === 'deepObject')
  for (const { name, form } of query) {
    const other = deep.find((each) => name.startsWith(`${each.name}[`))
    if (other) reader.unread(`${place}: the query parameters ${other.name} and ${name} both take ${name}`)
    for (const each of isExplodedObject(form) ? form.names : [name]) {
      const other = owners.get(each)
      if (other !== undefined)
        reader.unread(`${place}: the query parameters ${other} and ${name} both take ${each}`)
      owners.set(each, name)
    }
  }
  const open = query.filter(({ form }) => isExplodedObject(form) && form.takesOthers).map(({ name }) => name)
  if (open.length > 1) {
    reader.unread(`${place}: the query parameters ${open.join(' and ')} each take any name: use deepObject`)
  }
}

/** Whether each field of an object is a parameter of its own: `?R=100&G=200`. */
export function isExplodedObject(form: ParameterForm | undefined): form is ParameterForm {
  return form?.style === 'form' && form.explode && form.shape === 'object'
}
