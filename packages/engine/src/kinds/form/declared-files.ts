// Reads from the contract how bytes and files are validated as they stream to their handler.

import type { Content, FileRules, Lengths } from '../../document/contract.js'
import { extendedBy, saysOnly } from '../../document/keywords.js'
import { type Node, nodeOf, type Reader } from '../../document/reader.js'
import { onlyFile } from '../../document/uploads.js'

/**
 * Returns a form with the rules of its files, if they can be validated as the files arrive. Otherwise warns
 * that the server reads the form into memory.
 */
export function withFiles(reader: Reader, place: string, content: Content): Content {
  const { mediaType } = content
  const parts = allOfParts(nodeOf(reader.dereferenced(content.schema)))
  const files = new Map<string, FileRules>()
  for (const [name, { kind, isList }] of content.fields ?? [])
    if (kind === 'file') files.set(name, rulesOf(parts, name, isList))
  if (files.size === 0) return content
  const upload = { files, isClosed: isClosed(parts), minLength: 0, maxLength: Number.POSITIVE_INFINITY }
  if (onlyFile(upload) !== undefined || areCounted(parts, [...files.keys()])) return { ...content, upload }
  reader.warn(
    `${place}: the request body ${mediaType} is read into memory: its schema says more of its files than ` +
      'their types, lengths and numbers, which are checked as they arrive',
  )
  return content
}

// Returns a dereferenced schema, and the schemas that its `allOf` adds.
function allOfParts(schema: Node): Node[] {
  return [...extendedBy(schema, (each) => each)]
}

function isClosed(parts: readonly Node[]): boolean {
  return parts.some((each) => each.additionalProperties === false || each.unevaluatedProperties === false)
}

function declarationsOf(parts: readonly Node[], name: string): Node[] {
  return parts.flatMap(({ properties }) => {
    const own = nodeOf(properties)
    return Object.hasOwn(own, name) ? allOfParts(nodeOf(own[name])) : []
  })
}

function itemsOf(declarations: readonly Node[]): Node[] {
  return declarations.flatMap(({ items }) => (items === undefined ? [] : allOfParts(nodeOf(items))))
}

function rulesOf(parts: readonly Node[], name: string, isList: boolean): FileRules {
  const declarations = declarationsOf(parts, name)
  return {
    isRequired: parts.some(({ required }) => [required].flat().includes(name)),
    isList,
    minItems: most(declarations, 'minItems'),
    maxItems: isList ? least(declarations, 'maxItems') : 1,
    ...lengthsIn(isList ? itemsOf(declarations) : declarations),
  }
}

// True if the schemas of files use only these keywords: `if`, `dependentRequired` or `uniqueItems` would be
// about files that may not have arrived.
function areCounted(parts: readonly Node[], names: readonly string[]): boolean {
  const declarations = names.flatMap((name) => declarationsOf(parts, name))
  return (
    parts.every((each) => saysOnly(each, ofForms)) &&
    declarations.every((each) => saysOnly(each, [...ofFiles, ...ofLists])) &&
    itemsOf(declarations).every((each) => saysOnly(each, ofFiles))
  )
}

const always = ['type', 'allOf']
const ofForms = [...always, 'properties', 'required', 'additionalProperties', 'unevaluatedProperties']
const ofFiles = [...always, 'format', 'contentMediaType', 'contentEncoding', 'minLength', 'maxLength']
const ofLists = ['items', 'minItems', 'maxItems']

/** Returns the lengths that a schema allows bytes. */
export function lengthsOf(schema: Node): Lengths {
  return lengthsIn(allOfParts(schema))
}

function lengthsIn(parts: readonly Node[]): Lengths {
  return { minLength: most(parts, 'minLength'), maxLength: least(parts, 'maxLength') }
}

function most(schemas: readonly Node[], keyword: string): number {
  return Math.max(0, ...schemas.map((each) => Number(each[keyword] ?? 0)))
}

function least(schemas: readonly Node[], keyword: string): number {
  return Math.min(...schemas.map((each) => Number(each[keyword] ?? Number.POSITIVE_INFINITY)))
}
