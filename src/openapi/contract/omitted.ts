// What operations may omit and the server adds: operationIds and path parameters.

import { camelCase, pathParameterNames, servedMethods } from './names.js'
import { resolvePointer } from './pointer.js'
import { type Node, nodeOf } from './reader.js'

/**
 * The document with a derived operationId (`getToysById` for `GET /toys/{id}`) and a string parameter for each undeclared path parameter,
 * and a sentence for each. They are added to the document itself so that routes, handlers, types, the client and the log agree.
 */
export function addOmitted(document: object): { readonly document: object; readonly added: string[] } {
  const added: string[] = []
  const { paths } = document as Node
  if (typeof paths !== 'object' || paths === null) return { document, added }
  const parametersOf = ({ parameters }: Node) => (Array.isArray(parameters) ? parameters : [])
  const isOf = (name: string) => (parameter: unknown) => {
    const { $ref } = nodeOf(parameter)
    const target = typeof $ref === 'string' ? resolvePointer(document, $ref) : parameter
    const { name: own, in: location } = nodeOf(target)
    return own === name && location === 'path'
  }
  const items = Object.entries(paths).map(([path, item]) => {
    if (path.startsWith('x-') || typeof item !== 'object' || item === null) return [path, item]
    const members = Object.entries(item as Node).map(([method, given]) => {
      if (!servedMethods.includes(method) || typeof given !== 'object' || given === null)
        return [method, given]
      const node = given as Node
      const place = `${method.toUpperCase()} ${path}`
      const declared = [...parametersOf(item), ...parametersOf(node)]
      const missing = pathParameterNames(path).filter((name) => !declared.some(isOf(name)))
      for (const name of missing)
        added.push(`${place}: the path parameter ${name} is not declared: it is read as a string`)
      const operationId = derivedId(method, path)
      if (!('operationId' in node)) added.push(`${place} has no operationId: the server uses ${operationId}`)
      const texts = missing.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
      const parameters = missing.length > 0 && { parameters: [...parametersOf(node), ...texts] }
      return [method, { operationId, ...node, ...parameters }]
    })
    return [path, Object.fromEntries(members)]
  })
  return { document: added.length > 0 ? { ...document, paths: Object.fromEntries(items) } : document, added }
}

function derivedId(method: string, path: string): string {
  const words = path
    .replace(/\{/g, ' by ')
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
  return camelCase([method, ...words])
}
