// What the printed writers have in common (print-writers.ts): they write the JSON of values that were judged.

import { stringify } from 'lossless-json'

/** The JSON of any value, in which a bigint is a number; undefined of what JSON does not have. */
export const json: (value: unknown) => string | undefined = stringify

/** The fields of an object beyond the declared ones, each with a comma before it. */
export function others(object: Readonly<Record<string, unknown>>, declared: ReadonlySet<string>): string {
  let text = ''
  for (const name of Object.keys(object)) {
    const own = declared.has(name) ? undefined : json(object[name])
    if (own !== undefined) text += `,${JSON.stringify(name)}:${own}`
  }
  return text
}
