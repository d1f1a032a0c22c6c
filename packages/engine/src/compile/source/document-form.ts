// What no file of a contract may contain, whatever its fields mean, and what no document may. Found without
// recursion, before anything that recurses reads it.

import type { Pointer, Problem } from '../../document/contract-error.js'
import { containerFields, type Nesting, nestingIn, outermost } from '../../document/keywords.js'
import { valueAt } from '../../document/pointer.js'
import { nodeOf } from '../../document/reader.js'

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

/** The places of a document, or of a part of one, with null for an object. */
export function emptyProblems(
  document: object,
  at: Pointer = [],
  nesting: Nesting = outermost,
  noteRef: (ref: string, nesting: Nesting) => void = () => {},
): Problem[] {
  const found = problemsOf({ value: valueAt(document, at), at, nesting }, (around, inner) => {
    const isRef = inner.at.at(-1) === '$ref' && typeof inner.value === 'string'
    if (isRef) noteRef(String(inner.value), around.nesting)
    return emptyFault(around, inner)
  })
  return [...found]
}

/**
 * The same for a document of several files. What a part of another file is, is known from the `$ref`s to it:
 * null may be data there.
 * @param files by name, parsed
 * @param targetOf the file and the part that a `$ref` in a file refers to
 */
export function emptyProblemsIn(
  files: ReadonlyMap<string, object>,
  root: string,
  targetOf: (file: string, ref: string) => readonly [file: string, at: Pointer],
): (Problem & { readonly file: string })[] {
  const found: (Problem & { readonly file: string })[] = []
  const parts = new Map([['', { file: root, at: [] as Pointer, nesting: outermost }]])
  for (const { file, at, nesting } of parts.values()) {
    // with those that are added meanwhile
    const problems = emptyProblems(files.get(file) ?? {}, at, nesting, (ref, nesting) => {
      const [target, at] = targetOf(file, ref)
      if (target !== root) parts.set(JSON.stringify([target, at, nesting]), { file: target, at, nesting })
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

/** The places of a file with a `$ref` that leads nowhere. */
export function refProblems(file: object, leadsNowhere: (ref: string) => boolean): Problem[] {
  const found = problemsOf({ value: file, at: [], nesting: outermost }, (_, { value, nesting }) => {
    const { $ref } = nesting.isMap || nesting.isData ? {} : nodeOf(value)
    return typeof $ref === 'string' && leadsNowhere($ref) ? `cannot resolve $ref ${$ref}` : undefined
  })
  return [...found]
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

function emptyFault(around: Part, { value, at, nesting }: Part): string | undefined {
  if (value === null && !nesting.isData && isContainer(around, String(at.at(-1))))
    return `${named(at)} is null: give it a value, or remove it`
  const isMapping = around.nesting.of === 'mapping' && !around.nesting.isData
  return isMapping && typeof value !== 'string'
    ? `${named(at)} must be the name of a schema or a $ref`
    : undefined
}

function named(at: Pointer): string {
  return at.slice(-3).join('.')
}

// Whether a member must be a text.
function isText({ nesting: { isMap, isData } }: Part, key: string): boolean {
  return !isMap && !isData && ['description', 'summary', 'title'].includes(key)
}

// Whether a member must be an object or an array.
function isContainer({ value, nesting: { isMap } }: Part, key: string): boolean {
  return isMap || Array.isArray(value) || containerFields.has(key)
}
