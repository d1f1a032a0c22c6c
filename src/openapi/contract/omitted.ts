// What operations may omit and the server adds: operationIds and path parameters.

import type { Problem } from './contract-error.js'
import { isNode, mapValues } from './keywords.js'
import { mapOperations, operationPlace, operationsIn } from './methods.js'
import { camelCase, moduleName, pathParameterNames, wordsOf } from './names.js'
import { type Node, Reader } from './reader.js'

/**
 * The document with a derived operationId (`getToysById` for `GET /toys/{id}`) and a string parameter for
 * each undeclared path parameter, and a sentence for each. They are added to the document itself so that
 * routes, handlers, types, the client and the log agree. A path item that several paths share is copied to
 * each whose operations omit something: what is derived from a path differs.
 */
export function addOmitted(document: object): { readonly document: object; readonly added: Problem[] } {
  const added: Problem[] = []
  const { paths } = document as Node
  if (!isNode(paths)) return { document, added }
  const reader = new Reader(document) // the contract's own reader reports what is wrong
  const ids = new FreeIds(Object.values(paths).flatMap((item) => operationsOf(reader, item)))
  const items = mapValues(paths, (written, path) => {
    if (path.startsWith('x-') || !isNode(written)) return written
    const item = wholeItem(reader, written)
    let isWhole = true
    const completedItem = mapOperations(item, (operation, method) => {
      if (!isNode(operation)) return operation
      const omitted = omittedBy(reader, ids, path, method, item, operation)
      const texts = sentencesOf(omitted, `${method} ${path}`)
      added.push(...texts.map((text) => ({ text, at: operationPlace({ path, method }) })))
      isWhole &&= texts.length === 0
      return completed(operation, omitted)
    })
    return isWhole ? written : completedItem
  })
  return { document: added.length > 0 ? { ...document, paths: items } : document, added }
}

// With the fields of its `$ref`, unless one is in both places, which the reader of operations refuses.
function wholeItem(reader: Reader, written: Node): Node {
  const { $ref, ...own } = written
  const target = reader.node(written)
  const isTwice = Object.keys(own).some((key) => key in target)
  return typeof $ref !== 'string' || isTwice ? written : { ...target, ...own }
}

function operationsOf(reader: Reader, written: unknown): Node[] {
  const item = isNode(written) ? wholeItem(reader, written) : {}
  return operationsIn(item).map(([, operation]) => reader.node(operation))
}

/** Derived operationIds, of which each is that of one operation alone. */
class FreeIds {
  readonly #taken: Set<string>

  constructor(operations: readonly Node[]) {
    const written = operations.flatMap(({ operationId }) =>
      typeof operationId === 'string' ? [operationId] : [],
    )
    this.#taken = new Set(written.map(moduleOf))
  }

  /** An id for an operation; with a number, if another one has it. */
  next(id: string, number = 1): string {
    const numbered = number > 1 ? `${id}${number}` : id
    if (this.#taken.has(moduleOf(numbered))) return this.next(id, number + 1)
    this.#taken.add(moduleOf(numbered))
    return numbered
  }
}

// Names of files, which some systems do not distinguish by case.
function moduleOf(id: string): string {
  return moduleName(id).toLowerCase()
}

// The derived operationId, if there is none, and the names of the undeclared path parameters.
interface Omitted {
  readonly operationId?: string
  readonly names: readonly string[]
}

function omittedBy(
  reader: Reader,
  ids: FreeIds,
  path: string,
  method: string,
  item: Node,
  operation: Node,
): Omitted {
  const declared = [item, operation].flatMap(({ parameters }) => reader.list(parameters))
  const isDeclared = (name: string) => declared.some((each) => each.name === name && each.in === 'path')
  const names = pathParameterNames(path).filter((name) => !isDeclared(name))
  return 'operationId' in operation ? { names } : { names, operationId: ids.next(derivedId(method, path)) }
}

function sentencesOf({ operationId, names }: Omitted, place: string): string[] {
  const texts = names.map(
    (name) => `${place}: the path parameter ${name} is not declared: it is read as a string`,
  )
  return operationId === undefined
    ? texts
    : [...texts, `${place} has no operationId: the server uses ${operationId}`]
}

function completed(operation: Node, { names, ...omitted }: Omitted): Node {
  const { parameters } = operation
  const strings = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
  const all = [...(Array.isArray(parameters) ? parameters : []), ...strings]
  return { ...omitted, ...operation, ...(strings.length > 0 && { parameters: all }) }
}

function derivedId(method: string, path: string): string {
  return camelCase([
    method.toLowerCase(),
    ...wordsOf(path.replace(/\{/g, ' by ')).flatMap((each) => each.split(/[_$]/)),
  ])
}
