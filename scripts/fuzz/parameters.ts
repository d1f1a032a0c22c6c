// Parameters as the document wants them written: OpenAPI's `style` and `explode`, and the JSON of a `content`.

import { stringify } from 'lossless-json'
import type { Parameter } from './contract.js'
import type { Draft } from './draft.js'
import type { Json } from './values.js'

const delimiters: Readonly<Record<string, string>> = { spaceDelimited: '%20', pipeDelimited: '%7C' }

/** Whether a parameter is one text by its name, of which every mutation knows what the service has to make. */
export function isPlain({ in: location, style, schema, isJson }: Parameter): boolean {
  const isText = !['array', 'object'].includes(String(schema.type ?? 'object')) || Array.isArray(schema.enum)
  return isText && !isJson && location !== 'cookie' && (style === 'simple' || style === 'form')
}

/** Puts a value where it belongs. */
export function setParameter(draft: Draft, parameter: Parameter, value: Json): void {
  const { name, in: location } = parameter
  if (location === 'header' && isPlain(parameter)) draft.headers.push([name, String(value)])
  else if (location === 'path') draft.pathValues[name] = written(parameter, value).join('')
  else if (location === 'query') draft.query.push(...named(parameter, value))
  else if (location === 'header') draft.headers.push([name, written(parameter, value).join('')])
  else addCookies(draft, named(parameter, value))
}

function addCookies(draft: Draft, cookies: readonly string[]): void {
  const sent = draft.headers.find(([name]) => name === 'Cookie')
  if (sent === undefined) draft.headers.push(['Cookie', cookies.join('; ')])
  else sent[1] = [sent[1], ...cookies].join('; ')
}

// Each with its name.
function named(parameter: Parameter, value: Json): string[] {
  const { name, style, explode, isJson } = parameter
  if (!isJson && style === 'deepObject') {
    return fieldsOf(value).map(
      ([field, each]) => `${encodeURIComponent(`${name}[${field}]`)}=${encode(each)}`,
    )
  }
  if (!isJson && explode && Array.isArray(value)) return value.map((each) => `${name}=${encode(each)}`)
  if (!isJson && explode && isObject(value)) return written(parameter, value)
  return [`${name}=${written(parameter, value).join('')}`]
}

// Without its name, unless the style has it there; the fields of an exploded object each by itself.
function written({ name, style, explode, isJson }: Parameter, value: Json): string[] {
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
