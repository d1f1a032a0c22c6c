// Makes names where fewer characters are allowed than in OpenAPI.

import { literalPattern } from '../lib/texts.js'

// JavaScript's reserved words, the names that every object inherits, and the names that generated modules
// use.
const taken = new Set([
  ...Object.getOwnPropertyNames(Object.prototype),
  ...['handler', 'handlers', 'Handler', 'Handlers', 'notImplemented', 'undefined', 'globalThis', 'arguments'],
  ...`await break case catch class const continue debugger default delete do else enum eval export extends
  false finally for function if implements import in instanceof interface let new null package private
  protected public return static super switch this throw true try typeof var void while with
  yield`.split(/\s+/),
])

/**
 * Returns an operationId as the name of its handler's module and export: `find pet by id`, `pets/find-by-id`
 * and `find.pet.by.id` all become `findPetById`; `delete` becomes `deleteOperation`. Letters of any script
 * are kept.
 */
export function moduleName(operationId: string): string {
  const name = camelCase(wordsOf(operationId))
  if (taken.has(name)) return `${name}Operation`
  return /^[\p{ID_Start}_$]/u.test(name) ? name : `_${name}`
}

/**
 * Returns the parts of a text that can stand in an identifier. They are in NFC, because file systems do not
 * tell the forms apart.
 */
export function wordsOf(text: string): string[] {
  return text
    .normalize('NFC')
    .split(/[^\p{ID_Continue}$]+/u)
    .filter(Boolean)
}

/** Joins words: the first as it is, the others with a capital. */
export function camelCase([first = '', ...others]: readonly string[]): string {
  return first + others.map((word) => word.replace(/^./u, (letter) => letter.toUpperCase())).join('')
}

/** Returns the names of a path's parameters, in order: `id` for `/pets/{id}`. */
export function pathParameterNames(path: string): string[] {
  return [...path.matchAll(/\{([^{}]+)\}/g)].flatMap(([, name]) => name ?? [])
}

/**
 * Returns a path for the router (find-my-way). Characters of parameter names that the router does not allow
 * are escaped, `/users/{user_2d_id}` for `/users/{user-id}`; a colon, which would start a parameter, is
 * doubled; and a parameter that shares its segment gets a pattern. By the router's own pattern, such a
 * parameter may be empty: `/{id}.json` would take `/.json` from `/{id}`.
 */
export function withRouteNames(path: string): string {
  return path.split('/').map(segmentWithNames).join('/')
}

function segmentWithNames(segment: string): string {
  const parts = segment.split(/\{([^{}]+)\}/) // `a-{b}.{c}` has a-, b, ., c and an empty text
  const isAlone = parts.length === 3 && parts[0] === '' && parts[2] === ''
  const written = parts.map((part, i) => {
    if (i % 2 === 0) return part.replaceAll(':', '::')
    const before = i === 1 ? '' : (parts[i - 1] ?? '')
    const after = i === parts.length - 2 ? '' : (parts[i + 1] ?? '')
    return `{${routeName(part)}}${isAlone ? '' : patternBetween(before, after)}`
  })
  return written.join('')
}

// Returns a pattern that divides a text as the router's own patterns do, in a time that grows linearly. For
// `{name}.{type}`, `a.tar.gz` is `a.tar` and `gz`: after a full stop or a hyphen, a parameter has no further
// one. For `{x}_{y}`, `a_b_c` is `a` and `b_c`: another separator ends the parameter before it.
function patternBetween(before: string, after: string): string {
  const [last, first] = [literalPattern(before), literalPattern(after)]
  if (/^[.-]/.test(before)) return `(${last}|(?:(?!${last}).)+)`
  return after === '' || /^[.-]/.test(after) ? '(.+?)' : `(.(?:(?!${first}).)*)`
}

/** Returns the router's name for a path parameter. */
export function routeName(name: string): string {
  return name.replace(/\W/gu, (character) => `_${character.codePointAt(0)?.toString(16)}_`)
}
