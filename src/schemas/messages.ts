// Ajv's errors in the caller's terms: `body.categoryId must be an integer`.

import type { ErrorObject } from 'ajv'
import { withArticle } from './exact-numbers.js'

const shownMax = 20
const nameLengthMax = 64

/** One sentence for each offending place, the first problem of each; bounded in number and length. */
export function describeViolations(part: string, errors: readonly ErrorObject[]): string[] {
  const byPlace = new Map<string, string>()
  for (const error of errors) {
    const [place, problem] = violation(part, error)
    // Of a wrong type and a wrong value, the list of right values tells more.
    if (!byPlace.has(place) || error.keyword === 'enum') byPlace.set(place, `${place} ${problem}`)
  }
  return [...byPlace.values()]
}

/** What is wrong at a place that no schema was asked about, in the form of Ajv's errors. */
export function fault(path: readonly (string | number)[], message: string): ErrorObject {
  const names = path.map((name) => String(name).replaceAll('~', '~0').replaceAll('/', '~1'))
  return {
    instancePath: names.map((name) => `/${name}`).join(''),
    schemaPath: '',
    keyword: 'fault',
    params: {},
    message,
  }
}

/** The sentences as one message. */
export function joinViolations(violations: readonly string[]): string {
  const more = violations.length - shownMax
  return [...violations.slice(0, shownMax), ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

function violation(part: string, error: ErrorObject): [place: string, problem: string] {
  const { keyword, params } = error
  const place = part + propertyPath(error.instancePath)
  if (keyword === 'required') return [place + property(params.missingProperty), 'is required']
  if (keyword === 'additionalProperties') return [place + property(params.additionalProperty), unknown(part)]
  if (keyword === 'unevaluatedProperties')
    return [place + property(params.unevaluatedProperty), unknown(part)]
  if (part === 'query' && Array.isArray(error.data)) return [place, 'must be given once']
  return [place, problem(error)]
}

function unknown(part: string): string {
  return part === 'body' ? 'is not a known field' : 'is not a known parameter'
}

function problem({ keyword, params, message, parentSchema }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `must be ${[params.type].flat().map(withArticle).join(' or ')}`
    case 'enum':
      return `must be one of: ${params.allowedValues.join(', ')}`
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`
    case 'minLength':
      return `must have at least ${count(params.limit, 'character')}`
    case 'maxLength':
      return `must have at most ${count(params.limit, 'character')}`
    case 'pattern':
      return `must be ${parentSchema?.['x-pattern-description'] ?? `of the pattern ${params.pattern}`}`
    case 'format':
      return `must be of the format ${params.format}`
    default:
      return String(message)
  }
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function propertyPath(pointer: string): string {
  const names = pointer.split('/').slice(1)
  return names.map((name) => property(name.replaceAll('~1', '/').replaceAll('~0', '~'))).join('')
}

// The name is the caller's own text: quoted where it is not plain, and cut.
function property(name: string): string {
  if (/^\d+$/.test(name)) return `[${name}]`
  const shown = name.length > nameLengthMax ? `${name.slice(0, nameLengthMax)}…` : name
  return /^[\w$-]+…?$/.test(shown) ? `.${shown}` : `[${JSON.stringify(shown)}]`
}
