// Ajv's errors in the caller's terms: `body.categoryId must be an integer`.

import type { ErrorObject } from 'ajv'
import { stringify } from 'lossless-json'
import type { Telling } from './alternatives.js'
import { withArticle } from './exact-numbers.js'

const shownMax = 20
const nameLengthMax = 64
const formsLengthMax = 600

/** One sentence for each offending place, the first problem of each; bounded in number and length. */
export function describeViolations(part: string, errors: readonly ErrorObject[]): string[] {
  return firsts(violationsOf(part, errors)).map(sentence)
}

interface Violation {
  readonly place: string
  readonly problem: string
  readonly error: ErrorObject
}

function sentence({ place, problem }: Violation): string {
  return `${place} ${problem}`
}

function firsts(violations: readonly Violation[]): Violation[] {
  const byPlace = new Map<string, Violation>()
  for (const each of violations) {
    // Of a wrong type and a wrong value, the list of right values tells more.
    const isBetter = each.error.keyword === 'enum' && byPlace.get(each.place)?.error.keyword !== 'fault'
    if (!byPlace.has(each.place) || isBetter) byPlace.set(each.place, each)
  }
  return [...byPlace.values()]
}

// From the last, for an error of alternatives stands behind those of each.
function violationsOf(part: string, errors: readonly ErrorObject[]): Violation[] {
  const found: Violation[] = []
  for (let end = errors.length; end > 0; ) {
    const error = errors[end - 1] as ErrorObject // it is there
    end--
    if (error.keyword === 'if') continue // says only that `then` or `else` failed
    // Before it stands of each item why it is not the one that is wanted.
    if (error.keyword === 'contains')
      while (errors[end - 1]?.schemaPath.startsWith(`${error.schemaPath}/`)) end--
    const { lengths = [] } = error.params as { lengths?: readonly number[] }
    const branches = [...lengths].reverse().map((length) => {
      end -= length
      return violationsOf(part, errors.slice(end, end + length))
    })
    const own = lengths.length > 0 ? alternatives(part, error, branches.reverse()) : [violation(part, error)]
    found.push(...own.reverse())
  }
  return found.reverse()
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

function violation(part: string, error: ErrorObject): Violation {
  const { keyword, params } = error
  const at = part + propertyPath(error.instancePath)
  const of = (name: string, problem: string) => ({ place: at + property(name), problem, error })
  if (error.propertyName !== undefined) return of(error.propertyName, `has a name that ${problem(error)}`)
  if (keyword === 'required') return of(params.missingProperty, 'is required')
  if (keyword === 'additionalProperties') return of(params.additionalProperty, unknown(part, error))
  if (keyword === 'unevaluatedProperties') return of(params.unevaluatedProperty, unknown(part, error))
  if (keyword === 'propertyNames') return of(params.propertyName, 'has a name that is not allowed')
  if (keyword === 'dependentRequired')
    return of(params.missingProperty, `is required beside ${params.property}`)
  if (params.tag === 'missing') return of(params.property, 'is required')
  if (params.tag === 'unknown') return of(params.property, oneOf(params.allowed))
  return { place: at, problem: problem(error), error }
}

const formsMax = 4
const problemsMax = 3

// What would make the value right: of alternatives that it can be meant for.
function alternatives(part: string, error: ErrorObject, branches: readonly Violation[][]): Violation[] {
  const place = part + propertyPath(error.instancePath)
  const of = (problem: string) => [{ place, problem, error }]
  if (error.params.passing > 1)
    return of(`must fit one form alone, and fits ${error.params.passing} of ${branches.length}`)
  const ofKind = branches.filter((each) => !each.some((one) => one.place === place && isOfOtherKind(one)))
  if (ofKind.length === 0)
    return of(eitherProblem(branches.flatMap((each) => each.filter((one) => one.place === place))))
  const { telling } = error.params as { telling?: Telling }
  const tagPlace = telling && place + property(telling.property)
  const meant = ofKind.filter((each) => !each.some((one) => one.place === tagPlace))
  const [first] = ofKind.flat().filter((one) => one.place === tagPlace)
  if (meant.length === 0 && first !== undefined && telling !== undefined && ofKind.length > 1) {
    const isMissing = first.error.keyword === 'required'
    return [isMissing ? first : { ...first, problem: oneOf(telling.values) }]
  }
  const forms = (meant.length > 0 ? meant : ofKind).map(firsts)
  const [only = [], ...others] = forms
  if (others.length === 0) return only
  // What is wrong in each of them is wrong whichever is meant.
  const common = only.filter((one) =>
    others.every((each) => each.some((other) => sentence(other) === sentence(one))),
  )
  const rest = forms.map((each) =>
    each.filter((one) => !common.some((other) => sentence(other) === sentence(one))),
  )
  if (rest.some((each) => each.length === 0)) return common
  return [...common, ...of(`must fit one of ${forms.length} forms: ${formsText(rest)}`)]
}

function isOfOtherKind({ error: { keyword, data, params } }: Violation): boolean {
  if (keyword === 'exactNumber') return typeof data !== 'number' && typeof data !== 'bigint'
  return keyword === 'type' || params.tag === 'no object'
}

function eitherProblem(violations: readonly Violation[]): string {
  const nouns = violations.filter(isOfOtherKind).map(({ problem }) => problem.replace(/^must be /, ''))
  return `must be ${[...new Set(nouns)].join(' or ')}`
}

function formsText(forms: readonly Violation[][]): string {
  const texts = forms.slice(0, formsMax).map((each) => {
    const more = each.length - problemsMax
    return [...each.slice(0, problemsMax).map(sentence), ...(more > 0 ? [`${more} more`] : [])].join(' and ')
  })
  const text = `${texts.join(', or ')}${forms.length > formsMax ? ', or others' : ''}`
  return text.length > formsLengthMax ? `${text.slice(0, formsLengthMax)}…` : text
}

function unknown(part: string, { instancePath }: ErrorObject): string {
  return part === 'body' || instancePath !== '' ? 'is not a known field' : 'is not a known parameter'
}

function problem({ keyword, params, message, parentSchema }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `must be ${[params.type].flat().map(withArticle).join(' or ')}`
    case 'enum':
      return oneOf(params.allowedValues)
    case 'oneOf':
      return 'must be an object' // of a discriminator, for the others are told by alternative
    case 'anyOf':
      return 'must be an object'
    case 'const':
      return `must be ${stringify(params.allowedValue)}`
    case 'minLength':
      return `must have at least ${count(params.limit, 'character')}`
    case 'maxLength':
      return `must have at most ${count(params.limit, 'character')}`
    case 'minItems':
      return `must have at least ${count(params.limit, 'item')}`
    case 'maxItems':
    case 'items': // of prefixItems with `items: false`
    case 'unevaluatedItems':
      return `must have at most ${count(params.limit, 'item')}`
    case 'minProperties':
      return `must have at least ${count(params.limit, 'field')}`
    case 'maxProperties':
      return `must have at most ${count(params.limit, 'field')}`
    case 'contains':
      return `must have ${range(params.minContains, params.maxContains)} of the form that is wanted`
    case 'uniqueItems':
      return 'must not have the same item twice'
    case 'pattern':
      return `must be ${parentSchema?.['x-pattern-description'] ?? `of the pattern ${params.pattern}`}`
    case 'false schema':
      return 'must be absent'
    case 'not':
      return 'is of a form that is not allowed'
    case 'format':
      return `must be of the format ${params.format}`
    default:
      return String(message)
  }
}

function oneOf(values: readonly unknown[]): string {
  const texts = values.map((each) => (typeof each === 'string' && each !== '' ? each : stringify(each)))
  return `must be one of: ${texts.join(', ')}`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function range(min: number, max: number | undefined): string {
  if (max === undefined) return `at least ${count(min, 'item')}`
  return min === max ? count(max, 'item') : `${min} to ${count(max, 'item')}`
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
