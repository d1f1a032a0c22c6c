// Finds what no file of a contract may contain, whatever its fields mean, and what no document may. It runs
// before everything else that reads the document, because other readers recurse as deep as values are nested.

import type { Pointer, Problem } from '../../document/contract-error.js'
import { isNode } from '../../document/keywords.js'
import { valueAt } from '../../document/pointer.js'
import { nodeOf } from '../../document/reader.js'
import { type Place, pathOf, walk } from '../../document/walk.js'
import { nearest } from '../../lib/misspelt.js'
import { documentForm, type Form } from './object-forms.js'

/**
 * The limit of Redocly's YAML parser: far more than people write, and far from overflowing the stack of any
 * reader.
 */
export const nestingMax = 100

/** What is said of a part that is nested deeper. */
export const tooDeep = `a value is nested more than ${nestingMax} levels deep`

/** Returns the first place of a parsed file where a text is broken, or a value is nested too deeply. */
export function formProblem(file: object): Problem | undefined {
  return firstFault(file, [])
}

function firstFault(value: unknown, at: (string | number)[]): Problem | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, each] of membersOf(value)) {
    at.push(key)
    const text = formFault(each, at)
    const found = text === undefined ? firstFault(each, at) : { text, at: [...at] }
    if (found !== undefined) return found
    at.pop()
  }
  return undefined
}

function formFault(value: unknown, at: Pointer): string | undefined {
  // RFC 8259, section 8.2: half a surrogate pair has no encoding, so writing would alter it.
  const isBroken = [at.at(-1), value].some((each) => typeof each === 'string' && /\p{Cs}/u.test(each))
  if (isBroken) return `${named(at)} contains half a surrogate pair`
  return at.length > nestingMax ? tooDeep : undefined
}

function membersOf(value: object): Iterable<readonly [key: string | number, value: unknown]> {
  return Array.isArray(value) ? value.entries() : Object.entries(value)
}

/** Returns the places of a document, or of a part of it, whose values are not what their fields must be. */
export function misshapen(
  document: object,
  at: Pointer = [],
  form: Form = documentForm,
  noteRef: (ref: string, form: Form) => void = () => {},
): Problem[] {
  const found: Problem[] = []
  walkForms(valueAt(document, at), form, [...at], (value, at, form) => {
    const ref = refIn(value, form)
    if (ref !== undefined) noteRef(ref, form)
    // In a field that is never a reference, the bundle has the target in place of such a `$ref`.
    if (ref !== undefined && !form.isReferable && (form.isMap || !ref.startsWith('#'))) return false
    const fault = shapeFault(value, at, form)
    if (fault !== undefined) found.push({ text: fault, at: [...at] })
    return fault === undefined
  })
  return found
}

// Visits values in the order of the document. @param at is changed while it walks, so `visit` copies what it
// keeps
function walkForms(
  value: unknown,
  form: Form,
  at: (string | number)[],
  visit: (value: unknown, at: Pointer, form: Form) => boolean,
): void {
  if (!visit(value, at, form) || typeof value !== 'object' || value === null) return
  for (const [key, each] of membersOf(value)) {
    const inner = form.inner(String(key))
    if (inner === undefined) continue
    at.push(key)
    walkForms(each, inner, at, visit)
    at.pop()
  }
}

/**
 * Returns a sentence, with its place, for each unknown field whose name is like one of the object's known
 * fields.
 */
export function misspeltFields(document: object): Problem[] {
  const found: Problem[] = []
  walkForms(document, documentForm, [], (value, place, form) => {
    const names = isNode(value) && form.fields.length > 0 ? Object.keys(value) : []
    for (const name of names.filter((each) => !form.fields.includes(each) && !/^(x-|\$)/.test(each))) {
      const meant = nearest(name, form.fields)
      const at = [...place, name]
      if (meant !== undefined) found.push({ text: `${named(at)} is unknown: did you mean ${meant}?`, at })
    }
    return true
  })
  return found
}

// In a map, `$ref` is a name, unless its value is a string.
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
 * Does the same as `misshapen` for a document of several files. The form of a part of another file is known
 * from the `$ref`s to it.
 * @param files parsed, by name
 * @param targetOf returns the file and the part that a `$ref` in a file refers to
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
    // the loop also visits what is added meanwhile
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

/**
 * Returns the places where a text has a `$ref` to a file that is not YAML: the `$ref` itself is the mistake.
 */
export function textProblems(file: object, isUnread: (ref: string) => boolean): Problem[] {
  const isWrong = (ref: string, place: Place) => isText(place) && isUnread(ref)
  return refPlaces(file, isWrong).map(({ at }) => {
    return { text: `${named(at)} is a $ref to a file that is no YAML: write the text in its place`, at }
  })
}

/** Returns the references of a file that lead nowhere, with their places. */
export function refProblems(file: object, leadsNowhere: (ref: string) => boolean): RefPlace[] {
  return refPlaces(file, (ref, { isMap, isData }) => !isMap && !isData && leadsNowhere(ref))
}

interface RefPlace {
  readonly ref: string
  readonly at: Pointer
}

function refPlaces(file: object, isMeant: (ref: string, place: Place) => boolean): RefPlace[] {
  const found: RefPlace[] = []
  walk(
    file,
    (value, place, within) => {
      const { $ref } = nodeOf(value)
      if (typeof $ref === 'string' && isMeant($ref, place)) found.push({ ref: $ref, at: pathOf(place) })
      return within(value, place)
    },
    { entersData: true },
  )
  return found
}

function named(at: Pointer): string {
  return at.slice(-3).join('.')
}

// True of a field that must have a text.
function isText({ key, around }: Place): boolean {
  const isField = around !== undefined && !around.isMap && !around.isData
  return isField && ['description', 'summary', 'title'].includes(String(key))
}
