// What no file of a contract may contain, whatever its fields mean, and what no document may. Found without
// recursion, before anything that recurses reads it.

import type { Pointer, Problem } from '../../document/contract-error.js'
import { isNode, type Nesting, nestingIn, outermost } from '../../document/keywords.js'
import { valueAt } from '../../document/pointer.js'
import { nodeOf } from '../../document/reader.js'
import { nearest } from '../../lib/misspelt.js'
import { documentForm, type Form } from './object-forms.js'

/** As Redocly's parser of YAML: far more than people write, far from overflowing the stack of any reader. */
export const nestingMax = 100

/** What is said of a part nested deeper than that. */
export const tooDeep = `a value is nested more than ${nestingMax} levels deep`

interface Part {
  readonly value: unknown
  readonly at: Pointer
  readonly nesting: Nesting
}

/** The first place of a parsed file with broken text, or nested too deeply. */
export function formProblem(file: object): Problem | undefined {
  const [first] = problemsOf({ value: file, at: [], nesting: outermost }, formFault)
  return first
}

/** The places of a document, or of a part of one, that are not what their fields must be. */
export function misshapen(
  document: object,
  at: Pointer = [],
  form: Form = documentForm,
  noteRef: (ref: string, form: Form) => void = () => {},
): Problem[] {
  const found: Problem[] = []
  walkForms(
    document,
    (value, at, form) => {
      const ref = refIn(value, form)
      if (ref !== undefined) noteRef(ref, form)
      // Of a field that is never a reference, the bundle has the target in its place.
      if (ref !== undefined && !form.isReferable && (form.isMap || !ref.startsWith('#'))) return false
      const fault = shapeFault(value, at, form)
      if (fault !== undefined) found.push({ text: fault, at })
      return fault === undefined
    },
    at,
    form,
  )
  return found
}

// Without recursion, in the order of the document.
function walkForms(
  document: object,
  visit: (value: unknown, at: Pointer, form: Form) => boolean,
  at: Pointer = [],
  form: Form = documentForm,
): void {
  const pending = [{ value: valueAt(document, at), at, form }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, at, form } = next
    if (visit(value, at, form)) pending.push(...innerParts(value, at, form).reverse())
  }
}

/** A sentence with its place for each field that an object does not have, and that is like one of its fields. */
export function misspeltFields(document: object): Problem[] {
  const found: Problem[] = []
  walkForms(document, (value, at, form) => {
    const names = isNode(value) && form.fields.length > 0 ? Object.keys(value) : []
    for (const name of names.filter((each) => !form.fields.includes(each) && !/^(x-|\$)/.test(each))) {
      const meant = nearest(name, form.fields)
      if (meant !== undefined)
        found.push({ text: `${named([...at, name])} is unknown: did you mean ${meant}?`, at: [...at, name] })
    }
    return true
  })
  return found
}

function innerParts(value: unknown, at: Pointer, form: Form) {
  if (typeof value !== 'object' || value === null) return []
  const isList = Array.isArray(value)
  return Object.entries(value).flatMap(([key, each]) => {
    const inner = form.inner(key)
    return inner === undefined ? [] : [{ value: each, at: [...at, isList ? Number(key) : key], form: inner }]
  })
}

// In a map, `$ref` is a name, unless its value is the text of one.
function refIn(value: unknown, form: Form): string | undefined {
  const { $ref } = isNode(value) ? value : {}
  return typeof $ref === 'string' && form.noun !== '' ? $ref : undefined
}

function shapeFault(value: unknown, at: Pointer, form: Form): string | undefined {
  const place = at.length === 0 ? 'the file' : named(at)
  const isCut = at.at(-1) === '$ref' ? ' (what follows a blank and # is a comment: put it in quotes)' : ''
  if (value === null && !form.accepts(value)) return `${place} is null: give it a value, or remove it${isCut}`
  if (!form.accepts(value)) return `${place} must be ${form.noun}, not ${shown(value)}`
  const isRef = refIn(value, form) !== undefined
  const missing = isRef || !isNode(value) ? [] : form.needs.filter((field) => value[field] === undefined)
  return missing.length === 0 ? undefined : `${place} has no ${missing.join(' and no ')}`
}

const shownMax = 40

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  if (typeof value !== 'string') return String(value)
  return value.length > shownMax ? 'a text' : `the text ${JSON.stringify(value)}`
}

/**
 * The same for a document of several files. What a part of another file must be, is known from the `$ref`s to
 * it.
 * @param files by name, parsed
 * @param targetOf the file and the part that a `$ref` in a file refers to
 */
export function misshapenIn(
  files: ReadonlyMap<string, object>,
  root: string,
  targetOf: (file: string, ref: string) => readonly [file: string, at: Pointer],
): (Problem & { readonly file: string })[] {
  const found: (Problem & { readonly file: string })[] = []
  const seen = new Map<Form, Set<string>>()
  const pending: { readonly file: string; readonly at: Pointer; readonly form: Form }[] = [
    { file: root, at: [], form: documentForm },
  ]
  for (const { file, at, form } of pending) {
    // with those that are added meanwhile
    const problems = misshapen(files.get(file) ?? {}, at, form, (ref, form) => {
      const [target, at] = targetOf(file, ref)
      const known = seen.get(form) ?? new Set()
      const place = JSON.stringify([target, at])
      if (target === root || known.has(place) || valueAt(files.get(target) ?? {}, at) === undefined) return
      seen.set(form, known.add(place))
      pending.push({ file: target, at, form })
    })
    found.push(...problems.map((each) => ({ ...each, file })))
  }
  return found
}

/** The places of a file with a `$ref` for a text, to something else than YAML: that is what is wrong. */
export function textProblems(file: object, isUnread: (ref: string) => boolean): Problem[] {
  const found = problemsOf({ value: file, at: [], nesting: outermost }, (around, { value, at }) => {
    const { $ref } = nodeOf(value)
    return isText(around, String(at.at(-1))) && typeof $ref === 'string' && isUnread($ref)
      ? `${named(at)} is a $ref to a file that is no YAML: write the text in its place`
      : undefined
  })
  return [...found]
}

/** The references of a file that lead nowhere, with their places. */
export function refProblems(
  file: object,
  leadsNowhere: (ref: string) => boolean,
): { readonly ref: string; readonly at: Pointer }[] {
  const found = problemsOf({ value: file, at: [], nesting: outermost }, (_, { value, nesting }) => {
    const { $ref } = nesting.isMap || nesting.isData ? {} : nodeOf(value)
    return typeof $ref === 'string' && leadsNowhere($ref) ? $ref : undefined
  })
  return [...found].map(({ text, at }) => ({ ref: text, at }))
}

// In their order.
function* problemsOf(
  whole: Part,
  faultOf: (around: Part, inner: Part) => string | undefined,
): Generator<Problem> {
  const pending: { readonly part: Part; readonly fault?: string | undefined }[] = [{ part: whole }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { part, fault } = next
    if (fault !== undefined) yield { text: fault, at: part.at }
    for (const inner of membersOf(part).reverse()) pending.push({ part: inner, fault: faultOf(part, inner) })
  }
}

function membersOf({ value, at, nesting }: Part): Part[] {
  if (typeof value !== 'object' || value === null) return []
  const isList = Array.isArray(value)
  return Object.entries(value).map(([key, each]) => {
    return { value: each, at: [...at, isList ? Number(key) : key], nesting: nestingIn(nesting, key, isList) }
  })
}

function formFault(_: Part, { value, at }: Part): string | undefined {
  const key = String(at.at(-1))
  // RFC 8259, section 8.2: without its other half, a surrogate has no encoding: writing would alter it.
  if (/\p{Cs}/u.test(typeof value === 'string' ? key + value : key))
    return `${named(at)} contains half a surrogate pair`
  return at.length > nestingMax ? tooDeep : undefined
}

function named(at: Pointer): string {
  return at.slice(-3).join('.')
}

// Whether a member must be a text.
function isText({ nesting: { isMap, isData } }: Part, key: string): boolean {
  return !isMap && !isData && ['description', 'summary', 'title'].includes(key)
}
