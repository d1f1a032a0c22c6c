// Converts the names of a resource into the forms of code and SQL.

import { capitalized } from 'contract-engine/lib/texts'

/** `petShops` -> `pet_shops`. */
export function snakeCase(name: string): string {
  return wordsIn(name).join('_')
}

/** `pet_shops` -> `pet-shops`. */
export function kebabCase(name: string): string {
  return wordsIn(name).join('-')
}

/** `pet-shops` -> `petShops`. */
export function camelCase(name: string): string {
  return wordsIn(name)
    .map((word, i) => (i === 0 ? word : capitalized(word)))
    .join('')
}

/** `petShops` -> `pet shops`. */
export function inWords(name: string): string {
  return wordsIn(name).join(' ')
}

/** Adds the article: `an animal`. */
export function withArticle(noun: string): string {
  return `${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun}`
}

// `HTTPPort` and `vitaminB12` are two words each.
function wordsIn(name: string): string[] {
  const parts = name.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
  return parts
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .map((word) => word.toLowerCase())
}

// The keywords of PostgreSQL 18 that cannot name a column or a table without quotes.
const reserved = new Set(
  (
    'all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate ' +
    'collation column concurrently constraint create cross current_catalog current_date current_role ' +
    'current_schema current_time current_timestamp current_user default deferrable desc distinct do else end ' +
    'except false fetch for foreign freeze from full grant group having ilike in initially inner intersect ' +
    'into is isnull join lateral leading left like limit localtime localtimestamp natural not notnull null ' +
    'offset on only or order outer overlaps placing primary references returning right select session_user ' +
    'similar some symmetric system_user table tablesample then to trailing true union unique user using ' +
    'variadic verbose when where window with'
  ).split(' '),
)

/** Returns a name in SQL, quoted if necessary. */
export function sqlName(name: string): string {
  return /^[a-z_][a-z\d_]*$/.test(name) && !reserved.has(name) ? name : `"${name.replaceAll('"', '""')}"`
}

/** Returns a name in TypeScript, as a key of an object, quoted if necessary. */
export function keyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name.replace(/['\\]/g, '\\$&')}'`
}
