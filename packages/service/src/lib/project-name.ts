// What a service calls its metrics, keys and sessions: by the name in package.json, so that commands and
// server agree without being told.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { projectRoot } from './paths.js'

/** The package's name as words: `animal-store` of `@acme/animal-store-service`. */
export const projectName = nameOf(JSON.parse(readFileSync(path.join(projectRoot, 'package.json'), 'utf8')))

/** The name of a project by its package.json: lower case, a letter first, words with dashes between. */
export function nameOf({ name = 'service' }: { readonly name?: string | undefined }): string {
  const words = name.replace(/^@[^/]*\//, '').match(/[a-z0-9]+/g) ?? []
  if (words.at(-1) === 'service' && words.length > 1) words.pop()
  return words.join('-').replace(/^(?![a-z])/, 's')
}

/** The name of a metric: `animal_store_ready`. */
export function metricName(name: string): string {
  return `${projectName.replaceAll('-', '_')}_${name}`
}

/** How API keys begin, short: `ask_` of an animal store, `tsk_` of a toy shop, `lik_` of a library. */
export function keyPrefixOf(name: string): string {
  const initials = name.split('-').map((word) => word.charAt(0))
  return `${initials.length > 1 ? initials.join('') : name.slice(0, 2)}k_`
}
