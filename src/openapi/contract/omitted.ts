// What operations may omit and the server adds: operationIds and path parameters.

import type { Problem } from './contract-error.js'
import { isNode, mapValues } from './keywords.js'
import { camelCase, pathParameterNames, servedMethods, wordsOf } from './names.js'
import { type Node, Reader } from './reader.js'

/**
 * The document with a derived operationId (`getToysById` for `GET /toys/{id}`) and a string parameter for
 * each undeclared path parameter, and a sentence for each. They are added to the document itself so that
 * routes, handlers, types, the client and the log agree.
 */
export function addOmitted(document: object): { readonly document: object; readonly added: Problem[] } {
  const added: Problem[] = []
  const { paths } = document as Node
  if (!isNode(paths)) return { document, added }
  const items = mapValues(paths, (item, path) => {
    if (path.startsWith('x-') || !isNode(item)) return item
    return mapValues(item, (operation, method) => {
      if (!servedMethods.includes(method) || !isNode(operation)) return operation
      const omitted = omittedBy(document, path, method, item, operation)
      const texts = sentencesOf(omitted, `${method.toUpperCase()} ${path}`)
      added.push(...texts.map((text) => ({ text, at: ['paths', path, method] })))
      return completed(operation, omitted)
    })
  })
  return { document: added.length > 0 ? { ...document, paths: items } : document, added }
}

// The derived operationId, if there is none, and the names of the undeclared path parameters.
interface Omitted {
  readonly operationId?: string
  readonly names: readonly string[]
}

function omittedBy(document: object, path: string, method: string, item: Node, operation: Node): Omitted {
  const reader = new Reader(document) // the contract's own reader reports what is wrong with the parameters
  const declared = [item, operation].flatMap(({ parameters }) => reader.list(parameters))
  const isDeclared = (name: string) => declared.some((each) => each.name === name && each.in === 'path')
  const names = pathParameterNames(path).filter((name) => !isDeclared(name))
  return 'operationId' in operation ? { names } : { names, operationId: derivedId(method, path) }
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
  return camelCase([method, ...wordsOf(path.replace(/\{/g, ' by ')).flatMap((each) => each.split(/[_$]/))])
}
