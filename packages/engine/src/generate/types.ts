// Generates types.ts: the schemas as types, made by openapi-typescript, and each exported under its own name.
// An int64 is a bigint, because a number would round it.

import { createRequire } from 'node:module'
import type { GlobalContext, OpenAPI3, SchemaObject, TransformNodeOptions } from 'openapi-typescript'
import type { Node, PropertySignature, TypeAliasDeclaration, TypeNode } from 'typescript'
import { isIgnoredParameter } from '../compile/contract/parameters.js'
import { hasOtherThanText } from '../compile/source/discriminator.js'
import { withoutDynamicRefs } from '../compile/source/dynamic-refs.js'
import { resolved } from '../compile/source/resolved.js'
import { rounded } from '../compile/source/upgrade.js'
import type { Contract } from '../document/contract.js'
import {
  choicesOf,
  composingKeywords,
  isNode,
  mapValues,
  schemasOfValue,
  subschemasOf,
} from '../document/keywords.js'
import { operationIn, operationsIn } from '../document/methods.js'
import { jsonPointer, resolvePointer } from '../document/pointer.js'
import { nodeOf, nodesOf, Reader } from '../document/reader.js'
import { type NodeKind, type Place, schemaFields, type Visit, walk, wholeDocument } from '../document/walk.js'
import { withSchemaOfItem } from '../kinds/stream/declared.js'
import { isBig } from '../lib/exact-number.js'
import { withTypesOfEvents } from './event-schemas.js'
import { listHelper } from './list-helper.js'
import { sentItems } from './sent-requests.js'

// Loaded by `require`, because an import makes Node scan TypeScript's nine megabytes for exports, which takes
// a second of every run.
const require = createRequire(import.meta.url ?? __filename) // in a bundle in CommonJS
const ts: typeof import('typescript') = require('typescript')
const {
  astToString,
  resolveRef,
  scanDiscriminators,
  transformSchema,
  transformSchemaObject,
  tsLiteral,
  tsRecord,
  tsUnion,
  NEVER,
  STRING,
  UNDEFINED,
}: typeof import('openapi-typescript') = require('openapi-typescript')

/** Returns the text of types.ts. */
export function generateTypes(contract: Contract): string {
  // The cast is safe: the lint has validated the document.
  const whole = {
    ...withNamelessItems(resolved(withoutDynamicRefs(contract.document), hasNamedType)),
    webhooks: sentItems(contract),
  }
  const document = withTypedParts(withKnownMethods(whole)) as OpenAPI3
  const nodes = transformSchema(document, nesting(document, contract.hasReadOrWriteOnly))
  const text = withCorrectHelpers(astToString(withNamedSchemas(nodes)))
  return text.replace(/\\uFDD0/gi, '%')
}

// Stands for the % of an operationId, which openapi-typescript would decode in references to the operation.
// It is a noncharacter, which is written as an escape.
const percent = '\ufdd0'

// Corrects two faults in openapi-typescript's helper types:
// - `Readable` and `Writable` turn a tuple into an array.
// - They treat a property that is only null as marked, because NonNullable<null> is `never`, which extends
//   everything.
function withCorrectHelpers(text: string): string {
  return text
    .replace(
      /^(export type (Readable|Writable)<.*)T extends \(infer E\)\[\] \? \2<E>\[\]/gm,
      (_, start: string, helper: string) =>
        `${listHelper(helper)}${start}T extends readonly unknown[] ? $${helper}Items<T>`,
    )
    .replace(
      /NonNullable<T\[K\]> extends (\$Read|\$Write)<any>/g,
      '([NonNullable<T[K]>] extends [never] ? false : NonNullable<T[K]> extends $1<any> ? true : false) extends true',
    )
}

// Widens an index signature, because it applies to every property, including those declared beside it.
function withWideIndex(visited: Node): Node {
  if (!ts.isIntersectionTypeNode(visited)) return visited
  const members = visited.types.flatMap((each) => (ts.isTypeLiteralNode(each) ? [...each.members] : []))
  const declared = members.filter(ts.isPropertySignature)
  const types = declared.flatMap(({ type }) => type ?? [])
  if (declared.some(({ questionToken }) => questionToken !== undefined)) types.push(UNDEFINED)
  const widened = visited.types.map((each) => {
    const [index] = ts.isTypeLiteralNode(each) ? each.members : []
    if (index === undefined || !ts.isIndexSignatureDeclaration(index)) return each
    if (isUnknown(index.type)) return each
    const { modifiers, parameters, type } = index
    const wide = ts.factory.createIndexSignature(modifiers, parameters, tsUnion([type, ...types]))
    return ts.factory.createTypeLiteralNode([wide])
  })
  return ts.factory.createIntersectionTypeNode(widened)
}

function isUnknown(type: TypeNode): boolean {
  if (ts.isUnionTypeNode(type)) return type.types.some(isUnknown)
  return type.kind === ts.SyntaxKind.UnknownKeyword
}

// Exports each schema as a type, so that editors and the compiler show `Pet` and not
// `components["schemas"]["Pet"]`. A schema whose name is not a valid type name, or is used by the module, has
// a type with another name, which is not exported: a union may contain itself only if it has a name.
function withNamedSchemas(nodes: readonly Node[]): Node[] {
  const members = new Set<Node>(schemaMembers(nodes))
  const names = typeNames(schemaMembers(nodes).map(memberName), usedNames(nodes))
  const taken = Object.fromEntries([...names.values()].map((name) => [name, true]))
  const aliases: Node[] = []
  const nameOf = (item: TypeNode) => {
    if (!isResolvedAtOnce(item)) return item
    const name = freeName(`_Item${aliases.length}`, taken)
    aliases.push(alias(name, item, { isExported: false }))
    return ts.factory.createTypeReferenceNode(name)
  }
  const visit = (node: Node): Node => {
    const referred = names.get(referredSchema(node) ?? '')
    if (referred !== undefined) return ts.factory.createTypeReferenceNode(referred)
    const visited = withItem(withWideIndex(ts.visitEachChild(node, visit, undefined)), nameOf)
    if (!members.has(node)) return visited
    const { modifiers, name: key, questionToken, type } = visited as PropertySignature
    const own = memberName(node as PropertySignature)
    const name = names.get(own) as string // each member has one
    aliases.push(alias(name, type as TypeNode, { isExported: name === own, commented: node }))
    const reference = ts.factory.createTypeReferenceNode(name)
    return ts.factory.createPropertySignature(modifiers, key, questionToken, reference)
  }
  const visited = nodes.map(visit)
  return [...visited, ...aliases]
}

// Chooses the name of each schema's type: the schema's own name, if it is free.
function typeNames(schemas: readonly string[], used: ReadonlySet<string>): ReadonlyMap<string, string> {
  const isFree = (name: string) => {
    const isKeyword = ts.identifierToKeywordKind(ts.factory.createIdentifier(name)) !== undefined
    return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !isKeyword && !used.has(name)
  }
  const taken: Record<string, true> = Object.fromEntries([...schemas, ...used].map((name) => [name, true]))
  const named = schemas.map((schema): [string, string] => {
    if (isFree(schema)) return [schema, schema]
    const name = freeName(`_${schema.replace(/\W+/g, '_')}`, taken)
    taken[name] = true
    return [schema, name]
  })
  return new Map(named)
}

// Gives a name to the type of an optional item or a rest of a tuple: TypeScript would resolve a union that
// contains itself at once.
function withItem(node: Node, nameOf: (item: TypeNode) => TypeNode): Node {
  if (ts.isOptionalTypeNode(node)) return ts.factory.createOptionalTypeNode(nameOf(node.type))
  if (!ts.isRestTypeNode(node) || !ts.isArrayTypeNode(node.type)) return node
  return ts.factory.createRestTypeNode(ts.factory.createArrayTypeNode(nameOf(node.type.elementType)))
}

function isResolvedAtOnce(type: TypeNode): boolean {
  const refers = (node: Node): boolean =>
    ts.isTypeReferenceNode(node) || (!ts.isTypeLiteralNode(node) && ts.forEachChild(node, refers) === true)
  return !ts.isTypeReferenceNode(type) && refers(type)
}

interface Declared {
  readonly isExported: boolean
  /** The node whose comments the declaration gets. */
  readonly commented?: Node
}

function alias(name: string, type: TypeNode, { isExported, commented }: Declared): TypeAliasDeclaration {
  const modifiers = isExported ? [ts.factory.createModifier(ts.SyntaxKind.ExportKeyword)] : []
  const declared = ts.factory.createTypeAliasDeclaration(modifiers, name, undefined, type)
  return ts.setSyntheticLeadingComments(declared, commented && ts.getSyntheticLeadingComments(commented))
}

function schemaMembers(nodes: readonly Node[]): PropertySignature[] {
  const components = nodes.find((node) => ts.isInterfaceDeclaration(node) && node.name.text === 'components')
  const members = components !== undefined && ts.isInterfaceDeclaration(components) ? components.members : []
  const parts: PropertySignature[] = [...members].filter(ts.isPropertySignature)
  const schemas = parts.find((member) => memberName(member) === 'schemas')?.type
  return schemas !== undefined && ts.isTypeLiteralNode(schemas)
    ? schemas.members.filter(ts.isPropertySignature)
    : []
}

function memberName({ name }: PropertySignature): string {
  return ts.isIdentifier(name) || ts.isStringLiteral(name) ? name.text : ''
}

// Returns the names that the module declares or refers to, such as `Record` and `Omit`. Names of type
// parameters are left out: they hide others.
function usedNames(nodes: readonly Node[]): Set<string> {
  const names = new Set<string>()
  const parameters = new Set<string>()
  const visit = (node: Node): undefined => {
    if (ts.isTypeReferenceNode(node) && ts.isIdentifier(node.typeName)) names.add(node.typeName.text)
    if (ts.isTypeAliasDeclaration(node) || ts.isInterfaceDeclaration(node)) names.add(node.name.text)
    if (ts.isTypeParameterDeclaration(node)) parameters.add(node.name.text)
    ts.forEachChild(node, visit)
  }
  nodes.forEach(visit)
  return new Set([...names].filter((name) => !parameters.has(name)))
}

// Returns `Pet` for `components["schemas"]["Pet"]`.
function referredSchema(node: Node): string | undefined {
  const text = (at: TypeNode) =>
    ts.isLiteralTypeNode(at) && ts.isStringLiteral(at.literal) ? at.literal.text : undefined
  if (!ts.isIndexedAccessTypeNode(node) || !ts.isIndexedAccessTypeNode(node.objectType)) return undefined
  const { objectType: root, indexType: kind } = node.objectType
  const isSchema = ts.isTypeReferenceNode(root) && text(kind) === 'schemas'
  const isOwn = isSchema && ts.isIdentifier(root.typeName) && root.typeName.text === 'components'
  return isOwn ? text(node.indexType) : undefined
}

// Stands in for openapi-typescript's main function, which would lint and bundle the document again, with
// stricter rules.
function nesting(document: OpenAPI3, readWriteMarkers: boolean): GlobalContext {
  const silent = { silent: true }
  const options: Partial<GlobalContext> = {
    defaultNonNullable: false, // see filled.ts
    discriminators: scanDiscriminators(document, silent),
    emptyObjectsUnknown: true,
    injectFooter: [],
    ...silent,
    transformProperty: (property) => {
      const { modifiers, name, questionToken, type } = property
      const inherited = questionToken && inheritedType(memberName(property))
      if (inherited === undefined || type === undefined) return undefined
      const either = tsUnion([type, inherited])
      return ts.factory.createPropertySignature(modifiers, name, questionToken, either)
    },
    readWriteMarkers,
    resolve: ($ref) => resolveRef(document, $ref, silent),
    transform: (schema, node) => {
      const { const: constant, enum: values = [constant] } = nodeOf(schema) as {
        const?: unknown
        enum?: unknown[]
      }
      const orNull = nodeOf(schema).nullable === true ? [null] : [] // in OpenAPI 3.0
      if (values.some((each) => typeof each === 'bigint')) return tsUnion([...values, ...orNull].map(literal))
      if (schema.type === 'integer' && isBig(schema.format)) return bigint
      if (schema.type === 'object' && isEmpty({ ...schema })) return tsRecord(STRING, NEVER)
      return schema.type === 'array' ? tuple(schema as Tuple, node) : undefined
    },
  }
  return options as GlobalContext // all other options are off by default
}

// Every object inherits `toString`, so an optional property of that name also allows the inherited type.
// Otherwise, an object without the property would not be assignable.
function inheritedType(name: string): TypeNode | undefined {
  if (!(name in Object.prototype) || name.startsWith('__')) return undefined
  return ts.factory.createIndexedAccessTypeNode(ts.factory.createTypeReferenceNode('Object'), tsLiteral(name))
}

const bigint = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword)

// openapi-typescript has no literal for a bigint.
function literal(value: unknown): TypeNode {
  if (typeof value !== 'bigint') return tsLiteral(value)
  const digits = ts.factory.createBigIntLiteral(`${value < 0n ? -value : value}n`)
  const signed =
    value < 0n ? ts.factory.createPrefixUnaryExpression(ts.SyntaxKind.MinusToken, digits) : digits
  return ts.factory.createLiteralTypeNode(signed)
}

// True for an object that allows no properties.
function isEmpty(schema: Readonly<Record<string, unknown>>): boolean {
  const hasParts = ['properties', 'patternProperties', ...composingKeywords].some((key) => key in schema)
  return schema.additionalProperties === false && !hasParts
}

interface Tuple {
  readonly prefixItems?: readonly SchemaObject[]
  readonly items?: SchemaObject | boolean
  readonly unevaluatedItems?: unknown
  readonly minItems?: number
  readonly maxItems?: number
}

// openapi-typescript's tuples have exactly the `prefixItems`, but JSON Schema allows fewer and more items.
// For `items: false`, openapi-typescript would allow any items.
function tuple(schema: Tuple, options: TransformNodeOptions): TypeNode | undefined {
  const { prefixItems, items = true, unevaluatedItems, minItems = 0, maxItems } = schema
  if (prefixItems === undefined) return items === false ? ts.factory.createArrayTypeNode(NEVER) : undefined
  const types = prefixItems.map((each, i) => {
    const type = transformSchemaObject(each, options)
    return i < minItems ? type : ts.factory.createOptionalTypeNode(type)
  })
  const isClosed = items === false || unevaluatedItems === false || maxItems === prefixItems.length
  const other = transformSchemaObject((typeof items === 'object' ? items : {}) as SchemaObject, options)
  const rest = ts.factory.createRestTypeNode(ts.factory.createArrayTypeNode(other))
  return ts.factory.createTupleTypeNode(isClosed ? types : [...types, rest])
}

// Rewrites what openapi-typescript does not understand:
// - The target of a `$ref` into an `allOf` or a media type has no type. It is copied to a schema of its own,
//   to which the `$ref` then leads.
// - `$defs` would become a property of the type. References to a definition lead to its copy instead.
// - The JSON of a parameter's `content` would be a string, and the whole query would be no parameter.
// - Header parameters that OpenAPI ignores would have types, and an extension in `responses` would be a
//   response.
// - It does not know itemSchema, or the values of events.
// - The mapping of a discriminator may only have references, not names of schemas.
// - It fails at `true` and `false` among the parts of an `allOf` or the alternatives of a discriminator, and
//   treats `false` in a media type or a parameter as a missing schema.
// - It writes comments by JSON.stringify, which accepts no bigint. The types have `const` and `enum` exactly.
function withTypedParts(document: object): object {
  const reader = new Reader(document)
  const { components = {} } = document as { readonly components?: Components }
  const parts: Record<string, unknown> = {}
  const refs = new Map<string, string>()
  const isThere = (ref: string) => resolvePointer(document, ref) !== undefined
  const partOf = (ref: string): string => {
    const known = refs.get(ref)
    if (known !== undefined) return known
    const words = ref.replace(/^#\/(components\/(schemas\/)?)?/, '').split(/~1|[^A-Za-z0-9]+/)
    const name = freeName(words.filter(Boolean).join('_'), { ...components.schemas, ...parts })
    const made = `#/components/schemas/${name}`
    refs.set(ref, made) // before copying, because it may refer to itself
    parts[name] = {}
    parts[name] = typed(resolvePointer(document, ref), { ...wholeDocument, of: 'schemas' })
    return made
  }
  const referred = (target: unknown) => (isPart(String(target)) ? partOf(String(target)) : target)
  const other = (value: unknown, { of, isData, key, around }: Place): unknown => {
    if (of === 'const' || of === 'enum') return value
    if (key === '$ref' && around?.isMap !== true) return referred(value)
    if (around?.of === 'mapping' && isThere(String(value))) return referred(value)
    const isMisread = typeof value === 'boolean' && misread.has(of) && !isData
    return isMisread ? (value ? {} : nothing) : rounded(value)
  }
  const visit: Visit = (value, place, within) => {
    const own = typable(reader, value, place)
    const copy = within(Array.isArray(own) ? [...own] : { ...own }, place) // scanDiscriminators changes it
    return place.isMap || Array.isArray(copy) ? copy : corrected(nodeOf(copy))
  }
  const typed = (value: unknown, place = wholeDocument) => walk(value, visit, { place, other })
  const copy = typed(withTypesOfEvents(reader)) as { readonly components?: Components }
  if (refs.size === 0) return copy
  return { ...copy, components: { ...copy.components, schemas: { ...copy.components?.schemas, ...parts } } }
}

const misread: ReadonlySet<string> = new Set([...composingKeywords, ...schemaFields])
// openapi-typescript makes `never` of this schema.
const nothing = { enum: [] }

function typable(reader: Reader, value: object, { of, isMap }: Place): object {
  if (of === 'content' && isMap)
    return mapValues(value, (media, mediaType) => withSchemaOfItem(reader, mediaType, media))
  if (!isMap && !Array.isArray(value)) return typableSchema(reader, nodeOf(value))
  if (of === 'parameters' && Array.isArray(value))
    return value.filter((each) => !isIgnoredParameter(nodeOf(each)))
  if (of !== 'responses' || !isMap) return value
  return Object.fromEntries(
    Object.entries(value).filter(([, each]) => typeof each === 'object' && each !== null),
  )
}

function typableSchema(reader: Reader, schema: SchemaNode): object {
  const whole = withRequiredParts(reader, withConditional(reader, schema))
  return 'discriminator' in whole ? typableDiscriminator(reader, whole) : whole
}

type SchemaNode = Readonly<Record<string, unknown>>

// Adds the fields that only `then`, `else` or `dependentSchemas` declare as optional, because TypeScript has
// no conditions.
function withConditional(reader: Reader, schema: SchemaNode): SchemaNode {
  const { properties, additionalProperties, dependentSchemas } = schema
  const conditional = [schema.then, schema.else, ...Object.values(nodeOf(dependentSchemas))]
  if (schema.type !== 'object' || additionalProperties === false) return schema
  const parts = conditional.filter(isNode).flatMap((each) => schemasOfValue(reader.node(each)))
  const found = new Map<string, unknown[]>()
  for (const [name, each] of parts.flatMap((part) => Object.entries(nodeOf(part.properties))))
    if (each !== false && !Object.hasOwn(nodeOf(properties), name))
      found.set(name, [...(found.get(name) ?? []), each])
  if (found.size === 0) return schema
  const added = [...found].map(([name, all]) => [name, all.length > 1 ? { anyOf: all } : all[0]])
  return { ...schema, properties: { ...nodeOf(properties), ...Object.fromEntries(added) } }
}

// Gives a field that one part requires and another declares the declared type: with any value, the
// intersection of the parts would not be assignable to itself. For a field of an `allOf`, openapi-typescript
// would make a type of all its fields, which may not contain itself.
function withRequiredParts(reader: Reader, schema: SchemaNode): SchemaNode {
  const inherited = Object.assign({}, ...nodesOf(schema.allOf).map((each) => fieldsOf(reader, each)))
  const declared: Fields = { ...inherited, ...nodeOf(schema.properties) }
  if (Object.keys(declared).length === 0) return schema
  const completed = (part: unknown) => {
    const { required, properties, ...others } = reader.node(part)
    const missing = namesIn(required).filter(
      (name) => Object.hasOwn(declared, name) && !Object.hasOwn(nodeOf(properties), name),
    )
    if (missing.length === 0) return part
    return { ...others, required, properties: { ...nodeOf(properties), ...those(missing, declared) } }
  }
  const entries = composingKeywords.flatMap((key) =>
    Array.isArray(schema[key]) ? [[key, (schema[key] as unknown[]).map(completed)]] : [],
  )
  return withPart({ ...schema, ...Object.fromEntries(entries) }, Object.keys(inherited), declared)
}

// Moves the requirement of inherited fields to a part of its own.
function withPart(schema: SchemaNode, inherited: readonly string[], declared: Fields): SchemaNode {
  const names = namesIn(schema.required)
  const required = names.filter((name) => inherited.includes(name))
  if (required.length === 0) return schema
  const part = { type: 'object', required, properties: those(required, declared) }
  const others = names.filter((name) => !inherited.includes(name))
  return { ...schema, required: others, allOf: [...nodesOf(schema.allOf), part] }
}

type Fields = Readonly<Record<string, unknown>>

function those(names: readonly string[], fields: Fields): Fields {
  return Object.fromEntries(names.map((name) => [name, fields[name]]))
}

function namesIn(required: unknown): string[] {
  return Array.isArray(required) ? required.map(String) : []
}

/**
 * Returns the fields that a schema and the parts of its `allOf` declare.
 * @param at the place of the schema, unless it is within the schema that gets the fields
 * @param seen the references that were followed: each is followed once, since 40 levels of two references
 * each have 2^40 ways
 */
function fieldsOf(reader: Reader, schema: SchemaNode, at?: string, seen = new Set<string>()): Fields {
  const { $ref, allOf, properties } = schema
  const inner = nodesOf(allOf).map((each, i) => fieldsOf(reader, each, at && `${at}/allOf/${i}`, seen))
  if (typeof $ref === 'string' && !seen.has($ref)) {
    seen.add($ref)
    inner.push(fieldsOf(reader, nodeOf(resolvePointer(reader.document, $ref)), $ref, seen))
  }
  const own = mapValues(nodeOf(properties), (each, name) =>
    at === undefined ? each : fieldAt(`${at}/properties${jsonPointer([name])}`, each),
  )
  return Object.assign({}, ...inner, own)
}

// Returns a reference to a field that contains schemas, because a copy might contain a copy of itself.
function fieldAt($ref: string, field: unknown): unknown {
  const { readOnly, writeOnly, $ref: other } = nodeOf(field)
  if (!isNode(field) || other !== undefined || subschemasOf(field).length === 0) return field
  return { $ref, ...(readOnly === true && { readOnly }), ...(writeOnly === true && { writeOnly }) }
}

// Reduces a discriminator to what openapi-typescript can read. It makes texts of mapped numbers, although
// their `const` or `enum` has their type, and fails for a mapping to a schema within another one.
function typableDiscriminator(reader: Reader, schema: Readonly<Record<string, unknown>>): object {
  const { discriminator, ...others } = schema
  const [choice] = choicesOf(others)
  if (choice === undefined) return schema
  // openapi-typescript would require the property in each alternative.
  if (nodeOf(discriminator).defaultMapping !== undefined || hasOtherThanText(reader, schema)) return others
  const refs = nodesOf(choice.alternatives).map(({ $ref }) => $ref)
  const { mapping, ...own } = nodeOf(discriminator)
  const entries = Object.entries(nodeOf(mapping)).filter(([, target]) => refs.includes(target))
  return { ...others, discriminator: { ...own, mapping: Object.fromEntries(entries) } }
}

function corrected({ $defs: _, ...node }: Readonly<Record<string, unknown>>): object {
  if (typeof node.operationId === 'string')
    return { ...node, operationId: node.operationId.replaceAll('%', percent) }
  const { propertyName, mapping, name, in: location, content } = node
  if (typeof propertyName === 'string') {
    const refs = Object.entries(nodeOf(mapping)).map(([value, target]) => {
      return [value, /^[\w.-]+$/.test(String(target)) ? `#/components/schemas/${target}` : target]
    })
    return { ...node, mapping: Object.fromEntries(refs) }
  }
  if (typeof name !== 'string' || typeof location !== 'string' || content === undefined)
    return whole(withOneOf(node))
  const [media] = Object.values(nodeOf(content))
  const known = location === 'querystring' ? 'query' : location
  return { ...node, in: known, schema: nodeOf(media).schema ?? {} }
}

// Replaces `anyOf` by `oneOf`: of an `anyOf` and what stands beside it, openapi-typescript makes a union, but
// an intersection of a `oneOf`.
function withOneOf({
  anyOf,
  ...schema
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!Array.isArray(anyOf)) return schema
  if (schema.oneOf === undefined) return { ...schema, oneOf: anyOf }
  return { ...schema, allOf: [...nodesOf(schema.allOf), { oneOf: anyOf }] }
}

// Completes a schema of objects, so that its type has every property that it requires or allows, including
// those that it does not declare.
function whole(schema: Readonly<Record<string, unknown>>): object {
  const { type, required, properties, patternProperties, additionalProperties, unevaluatedProperties } =
    schema
  if (type !== 'object' && (type !== undefined || required === undefined)) return schema
  const undeclared = namesIn(required).filter((name) => !Object.hasOwn(nodeOf(properties), name))
  const others = patternProperties === undefined ? nodeOf(additionalProperties) : {}
  const added = Object.fromEntries(undeclared.map((name) => [name, others]))
  const isOpen = (patternProperties ?? unevaluatedProperties) !== undefined && unevaluatedProperties !== false
  return {
    ...schema,
    ...(isOpen && additionalProperties === undefined && { additionalProperties: true }),
    ...(undeclared.length > 0 && { properties: { ...nodeOf(properties), ...added } }),
  }
}

// openapi-typescript has no components of the other kinds, or no types for them.
function hasNamedType(kind: NodeKind): boolean {
  return ['responses', 'parameters', 'requestBodies', 'headers'].includes(kind)
}

// The operations of shared path items get their types where they are used.
function withNamelessItems(document: object): Readonly<Record<string, unknown>> {
  const { components, ...others } = nodeOf(document)
  const { pathItems } = nodeOf(components)
  if (pathItems === undefined) return nodeOf(document)
  const items = mapValues(nodeOf(pathItems), (item) => nameless(nodeOf(item)))
  return { ...others, components: { ...nodeOf(components), pathItems: items } }
}

// openapi-typescript 7.13 reads neither QUERY nor additional operations of a path. Each gets a path of its
// own, `QUERY /pets`, with a POST in its place.
function withKnownMethods(document: Readonly<Record<string, unknown>>): object {
  const entries = Object.entries(nodeOf(document.paths)).flatMap(([path, item]) => {
    const { query: _, additionalOperations: __, ...known } = nodeOf(item)
    const others = operationsIn(nodeOf(item)).filter(([method]) => operationIn(known, method) === undefined)
    const made = others.map(([method, operation]) => {
      return [`${method} ${path}`, { parameters: known.parameters ?? [], post: operation }]
    })
    return made.length === 0 ? [[path, item]] : [[path, known], ...made]
  })
  return { ...document, paths: Object.fromEntries(entries) }
}

function nameless(item: object): object {
  const entries = Object.entries(item).map(([key, each]) => {
    const { operationId, ...others } = nodeOf(each)
    return [key, operationId === undefined ? each : others]
  })
  return Object.fromEntries(entries)
}

type Components = { readonly schemas?: object }

// True if openapi-typescript makes no type of the reference's target.
function isPart(ref: string): boolean {
  return ref.startsWith('#/') && !/^#\/components\/\w+\/[^/]+$/.test(ref)
}

function freeName(name: string, taken: object): string {
  return name in taken ? freeName(`${name}_`, taken) : name
}
