// Of a document what routes are made of: parts that no path uses, and those that are for readers, can neither stop the
// start nor take its time.

import { lookUp, unescapePointer } from '../contract/pointer.js'
import type { Contract } from '../contract/types.js'
import { mapKeywords } from '../contract/upgrade.js'

const forReaders = ['links', 'callbacks', 'example', 'examples']
const data = ['default', 'enum', 'const']

/** An operation's extension with the schemas of its JSON parameters, so that glue makes each one without references. */
export const jsonSchemas = 'x-json-parameters'

function isData(key: string): boolean {
  return data.includes(key) || (key.startsWith('x-') && key !== jsonSchemas)
}

/** A document of these paths, with the components that they refer to. */
export function usedParts(paths: object, { title, version, specification }: Contract): object {
  const names = new Map<string, string>()
  const components: Record<string, Record<string, unknown>> = {}
  const use = (ref: string): string => {
    const [, , kind = '', name = ''] = ref.split('/')
    const isComponent = ref.startsWith('#/components/')
    // Of a file that was read into the document a part may stand where it was first referred to.
    const [inKind, asName] = isComponent ? [kind, name] : ['schemas', `part${names.size}`]
    const whole = isComponent ? `#/components/${kind}/${name}` : ref
    if (names.has(whole)) return isComponent ? ref : (names.get(whole) as string)
    names.set(whole, `#/components/${inKind}/${asName}`)
    components[inKind] ??= {}
    components[inKind][unescapePointer(asName) ?? asName] = copy(lookUp(specification, whole))
    return isComponent ? ref : `#/components/${inKind}/${asName}`
  }
  const copy = (value: unknown, isMap = false): unknown => {
    if (Array.isArray(value)) return value.map((each) => copy(each))
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value)
      .filter(([key]) => isMap || !forReaders.includes(key))
      .map(([key, each]) => {
        if (!isMap && key === '$ref') return [key, use(String(each))]
        if (!isMap && isData(key)) return [key, each]
        return [key, copy(each, !isMap && mapKeywords.has(key))]
      })
    return Object.fromEntries(entries)
  }
  const used = copy(paths, true)
  return { openapi: '3.1.0', info: { title, version }, paths: used, components }
}
