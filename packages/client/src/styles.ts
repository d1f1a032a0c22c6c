// Checks what the style of a parameter can carry: where nothing escapes a separator, a text that contains it
// would become two texts.

import type { ClientForm } from './table.js'

/** The texts of a parameter: of a single value, a list, or the fields of an object. */
export type Texts = string | readonly string[] | Readonly<Record<string, string>>

export function isObject(texts: Texts): texts is Readonly<Record<string, string>> {
  return typeof texts === 'object' && !Array.isArray(texts)
}

/**
 * Refuses texts that the service would read as something else.
 * @throws {TypeError} naming the parameter
 */
export function checkTexts(at: string, texts: Texts, form: ClientForm, location: string): void {
  const refuse = (what: string) => {
    throw new TypeError(`${at} must not ${what}`)
  }
  const isBare = location === 'header' || form.style === 'cookie' // nothing is escaped
  const all = typeof texts === 'string' ? [texts] : Object.entries(texts).flat()
  const names = isObject(texts) ? Object.keys(texts) : []
  if (isBare && all.some((each) => /^[\t ]|[\t ]$/.test(each)))
    refuse('begin or end with a blank, nor what is in it')
  if (typeof texts === 'string') return
  const parts = isObject(texts) ? all : [...texts]
  const separator = separatorOf(form, location)
  if (separator !== undefined && parts.some((each) => each.includes(separator)))
    refuse(`contain ${JSON.stringify(separator)}, which separates its values`)
  if (isBare && form.explode && names.some((each) => each.includes('=')))
    refuse('have a name with an equals sign')
  checkNames(names, form, refuse)
  if (isObject(texts)) return
  if (location === 'header' && texts.includes('')) refuse('contain an empty text')
  if (form.isOneOrList && texts.length === 1)
    refuse('be a list of one, which is a single value to the service')
}

// Returns the separator of the values, if it is not escaped in them.
function separatorOf({ style, explode }: ClientForm, location: string): string | undefined {
  if (style === 'spaceDelimited') return ' '
  if (style === 'pipeDelimited') return '|'
  return location === 'header' || (style === 'cookie' && !explode) ? ',' : undefined
}

// Checks the names of fields that are parameters of their own, or that are in brackets.
function checkNames(
  given: readonly string[],
  { style, names, taken = [] }: ClientForm,
  refuse: (what: string) => void,
): void {
  if (style === 'deepObject' && given.some((each) => !/^[^[\]]+$/.test(each)))
    refuse('have a name with brackets, or none')
  const isTaken = (each: string) =>
    taken.some((other) => (other.endsWith('[') ? each.startsWith(other) : each === other))
  const other = given.find((each) => isTaken(each) || names?.includes(each) === false)
  if (other !== undefined) refuse(`have the field ${other}, which is another parameter, or none`)
}
