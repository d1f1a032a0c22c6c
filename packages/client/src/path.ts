// Writes the path of a call, and checks that the service will read it as this operation's path with the given
// arguments.

import type { ClientOperation } from './table.js'

type Routed = Pick<ClientOperation, 'path' | 'divided' | 'rivals'>

/**
 * Writes the path of an operation with the texts of its parameters.
 * @throws {TypeError} if the service would take the path for another operation's, or divide it differently
 */
export function writePath({ path, divided, rivals = [] }: Routed, textOf: (name: string) => string): string {
  const texts = new Map<string, string>()
  const written = path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const text = textOf(name)
    texts.set(name, text)
    return text
  })
  checkSegments(written)
  const read = written.split('/').map(decoded).join('/')
  if (divided !== undefined) checkDivision(read, divided, texts)
  if (rivals.some((each) => regExpOf(each).test(read)))
    throw new TypeError(`the path ${written} is that of another operation`)
  return written
}

/**
 * A URL cannot have these segments, even percent-encoded: parsers remove them, `..` with the segment before
 * it.
 */
export const dots = /^(\.|%2e){1,2}$/i

// Checks the whole path, because a list may be written as dots, too.
function checkSegments(path: string): void {
  const segment = path.split('/').find((each) => dots.test(each))
  if (segment !== undefined) throw new TypeError(`the path ${path} must not contain the segment ${segment}`)
}

function checkDivision(path: string, divided: string, texts: ReadonlyMap<string, string>): void {
  const [, ...groups] = regExpOf(divided).exec(path) ?? []
  const other = [...texts].find(([, text], i) => decoded(text) !== groups[i])
  if (other === undefined) return
  const [name] = other
  throw new TypeError(`the path parameter ${name} must not contain the text that ends it in ${path}`)
}

// The service decodes a segment before dividing it. A decoded slash stays a character of its segment.
function decoded(text: string): string {
  return decodeURIComponent(text).replaceAll('/', '\0')
}

function regExpOf(source: string): RegExp {
  return new RegExp(`^${source}$`)
}
