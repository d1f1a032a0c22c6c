// The names of a contract: methods that are served, and operations and parameters where others are allowed fewer letters.

/** What fastify-openapi-glue makes routes of. */
export const servedMethods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']

// Reserved by the language, names that every object has, or that the generated modules use themselves.
const taken = new Set([
  ...Object.getOwnPropertyNames(Object.prototype),
  ...`handler handlers Handler Handlers notImplemented undefined globalThis arguments await break case catch class const continue debugger default delete do else enum eval export extends
  false finally for function if implements import in instanceof interface let new null package private protected public
  return static super switch this throw true try typeof var void while with yield`.split(/\s+/),
])

/**
 * An operationId as the name of a module and of what it exports: `find pet by id`, `pets/find-by-id` and `find.pet.by.id` are called
 * `findPetById`; `delete` is `deleteOperation`.
 */
export function moduleName(operationId: string): string {
  const [first = '', ...others] = operationId.split(/[^\w$]+/).filter(Boolean)
  const name = first + others.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  if (taken.has(name)) return `${name}Operation`
  return /^[A-Za-z_$]/.test(name) ? name : `_${name}`
}

/** The parameters in a path, in their order: `id` of `/pets/{id}`. */
export function namesIn(path: string): string[] {
  return [...path.matchAll(/\{([^{}]+)\}/g)].flatMap(([, name]) => name ?? [])
}

/**
 * A path as the router is to read it: its parameters by words alone, `/users/{user_2d_id}` for `/users/{user-id}`; a colon, which would
 * begin a parameter, twice; and between a parameter and what would be taken for more of its name a pattern.
 */
export function withRouteNames(path: string): string {
  return path.replace(/\{([^{}]+)\}(?=([^/.-])?)|:/g, (_, name, next) => {
    if (name === undefined) return '::'
    return `{${routeName(name)}}${next === undefined ? '' : '(.*?)'}`
  })
}

/** What the router calls a path parameter. */
export function routeName(name: string): string {
  return name.replace(/\W/gu, (character) => `_${character.codePointAt(0)?.toString(16)}_`)
}

/** Whether HTTP allows it for the name of a header or a cookie (RFC 9110, section 5.6.2). */
export function isToken(name: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(name)
}
