// The first lines of generated files.

/** The first line of every generated file. */
export const header = '// Generated from openapi.yaml by `npm run generate`. Do not edit.\n\n'

/** An import of those of a module's types that a text uses, and of `others`; empty if there are none. */
export function importOf(
  names: readonly string[],
  text: string,
  module: string,
  others: readonly string[] = [],
): string {
  const used = [...others, ...names.filter((name) => new RegExp(`\\b${name}[[<]`).test(text))]
  return used.length > 0 ? `import type { ${used.join(', ')} } from '${module}'\n` : ''
}
