// Adds what operations may omit: operationIds and path parameters. Also gives operations that several paths
// share by `$ref` an operationId for each path.

import type { Problem } from '../../document/contract-error.js'
import { isNode, mapValues } from '../../document/keywords.js'
import { mapOperations, operationPlace, operationsIn } from '../../document/methods.js'
import { camelCase, moduleName, pathParameterNames, wordsOf } from '../../document/names.js'
import { type Node, Reader } from '../../document/reader.js'

/**
 * Returns the document with a derived operationId (`getToysById` for `GET /toys/{id}`) and a string parameter
 * for each undeclared path parameter, and a sentence for each. An Operation Object that several paths refer
 * to is an operation of each: the first keeps its operationId, which must be unique. They are added to the
 * document itself so that routes, handlers, types, the client and the log agree. A path item that several
 * paths share is copied to each whose operations omit something, because what is derived from a path differs.
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
    const completedItem = mapOperations(item, (written, method) => {
      if (!isNode(written)) return written
      const operation = reader.node(written)
      const omitted = omittedBy(reader, ids, path, method, item, operation)
      const texts = sentencesOf(omitted, `${method} ${path}`)
      added.push(...texts.map((text) => ({ text, at: operationPlace({ path, method }) })))
      isWhole &&= texts.length === 0
      return texts.length === 0 ? written : completed(operation, omitted)
    })
    return isWhole ? written : completedItem
  })
  return { document: added.length > 0 ? { ...document, paths: items } : document, added }
}

// Returns a path item with the fields of its `$ref`'s target. If a field is in both places, the item is
// returned as written, for the reader of operations to refuse.
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

/** Derives unique operationIds. */
class FreeIds {
  readonly #taken: Set<string>
  readonly #owners = new Map<unknown, Node>()

  constructor(operations: readonly Node[]) {
    const written = operations.flatMap(({ operationId }) =>
      typeof operationId === 'string' ? [operationId] : [],
    )
    this.#taken = new Set(written.map(moduleOf))
  }

  /**
   * True if an operation was met at an earlier path, by a `$ref`. The first operation with an operationId
   * becomes its owner.
   */
  isKnown(operation: Node): boolean {
    const { operationId } = operation
    const owner = this.#owners.get(operationId)
    if (owner === undefined) this.#owners.set(operationId, operation)
    return owner === operation
  }

  /** Returns an unused id: with a number, if another operation has it. */
  next(id: string, number = 1): string {
    const numbered = number > 1 ? `${id}${number}` : id
    if (this.#taken.has(moduleOf(numbered))) return this.next(id, number + 1)
    this.#taken.add(moduleOf(numbered))
    return numbered
  }
}

// An operationId names the file of its handler, and some file systems ignore case.
function moduleOf(id: string): string {
  return moduleName(id).toLowerCase()
}

// `operationId` is set if it is derived, or if the written one belongs to another path; `names` are the
// undeclared path parameters.
interface Omitted {
  readonly operationId?: string
  readonly isOfOther?: boolean
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
  if (!('operationId' in operation)) return { names, operationId: ids.next(derivedId(method, path)) }
  if (!ids.isKnown(operation)) return { names }
  return { names, operationId: ids.next(String(operation.operationId)), isOfOther: true }
}

function sentencesOf({ operationId, isOfOther = false, names }: Omitted, place: string): string[] {
  const texts = names.map(
    (name) => `${place}: the path parameter ${name} is not declared: it is read as a string`,
  )
  const reason = isOfOther ? 'has the operationId of another path' : 'has no operationId'
  return operationId === undefined ? texts : [...texts, `${place} ${reason}: the server uses ${operationId}`]
}

function completed(operation: Node, { names, operationId }: Omitted): Node {
  const { parameters } = operation
  const strings = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
  const all = [...(Array.isArray(parameters) ? parameters : []), ...strings]
  const own = operationId === undefined ? {} : { operationId }
  return { ...own, ...operation, ...own, ...(strings.length > 0 && { parameters: all }) }
}

function derivedId(method: string, path: string): string {
  return camelCase([
    method.toLowerCase(),
    ...wordsOf(path.replace(/\{/g, ' by ')).flatMap((each) => each.split(/[_$]/)),
  ])
}
