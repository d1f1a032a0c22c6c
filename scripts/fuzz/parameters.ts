// Serializes parameters: by OpenAPI's `style` and `explode`, or as the JSON of a `content`.

import { stringify } from 'lossless-json'
import type { Parameter } from './contract.js'
import type { Draft } from './draft.js'
import type { Json } from './values.js'

const delimiters: Readonly<Record<string, string>> = { spaceDelimited: '%20', pipeDelimited: '%7C' }

/** Whether a parameter is a single text with a name, the only kind that is mutated. */
export function isPlain({ in: location, style, schema, isJson }: Parameter): boolean {
  const isText = !['array', 'object'].includes(String(schema.type ?? 'object')) || Array.isArray(schema.enum)
  return isText && !isJson && location !== 'cookie' && (style === 'simple' || style === 'form')
}

/** Adds a parameter's value to the draft. */
export function setParameter(draft: Draft, parameter: Parameter, value: Json): void {
  const { name, in: location } = parameter
  if (location === 'header' && isPlain(parameter)) draft.headers.push([name, String(value)])
  else if (location === 'path') draft.pathValues[name] = serialized(parameter, value).join('')
  else if (location === 'query') draft.query.push(...named(parameter, value))
  else if (location === 'header') draft.headers.push([name, serialized(parameter, value).join('')])
  else addCookies(draft, named(parameter, value))
}

function addCookies(draft: Draft, cookies: readonly string[]): void {
  const header = draft.headers.find(([name]) => name === 'Cookie')
  if (header === undefined) draft.headers.push(['Cookie', cookies.join('; ')])
  else header[1] = [header[1], ...cookies].join('; ')
}

// The `name=value` pairs of a query or cookie parameter.
function named(parameter: Parameter, value: Json): string[] {
  const { name, style, explode, isJson } = parameter
  if (!isJson && style === 'deepObject') {
    return fieldsOf(value).map(
      ([field, each]) => `${encodeURIComponent(`${name}[${field}]`)}=${encode(each)}`,
    )
  }
  if (!isJson && explode && Array.isArray(value)) return value.map((each) => `${name}=${encode(each)}`)
  if (!isJson && explode && isObject(value)) return serialized(parameter, value)
  return [`${name}=${serialized(parameter, value).join('')}`]
}

// The value without the parameter's name, except for `matrix`; several texts for an exploded object.
function serialized({ name, style, explode, isJson }: Parameter, value: Json): string[] {
  if (isJson) return [encode(stringify(value))]
  const list = Array.isArray(value)
    ? value.map(encode)
    : isObject(value)
      ? partsOf(value, explode)
      : [encode(value)]
  if (style === 'form' && explode) return list
  if (style === 'label') return [`.${list.join(explode ? '.' : ',')}`]
  if (style !== 'matrix') return [list.join(delimiters[style] ?? ',')]
  if (explode && isObject(value)) return list.map((each) => `;${each}`)
  return (explode ? list : [list.join(',')]).map((each) => `;${name}=${each}`)
}

function partsOf(value: Json, explode: boolean): string[] {
  return fieldsOf(value).flatMap(([field, each]) =>
    explode ? [`${encode(field)}=${encode(each)}`] : [encode(field), encode(each)],
  )
}

function fieldsOf(value: Json): [name: string, value: Json][] {
  return Object.entries(value as object)
}

function isObject(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function encode(value: Json): string {
  return encodeURIComponent(String(value))
}
