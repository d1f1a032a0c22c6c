// Decides where the project keeps the files of a document, and adapts the references between them.

import path from 'node:path'
import { contractName } from '../../src/lib/contract-name.js'
import { OperatorError } from '../../src/lib/operator-error.js'

/** The place of each file in the project, with slashes, by its absolute path. The document comes first. */
export type Places = ReadonlyMap<string, string>

/**
 * Returns the places of a document and the files that it refers to: openapi.yaml for the document; for the
 * others, the path relative to their folder.
 * @throws {OperatorError} if a file has no place in the project
 */
export function placesOf(
  document: string,
  files: readonly string[],
  folder = path.dirname(document),
): Places {
  const own = path.resolve(document)
  const others = files.map((file) => path.resolve(file)).filter((file) => file !== own)
  const places = others.map((file) => [file, path.relative(folder, file).split(path.sep).join('/')] as const)
  const outside = places.find(([, place]) => place.startsWith('../'))
  if (outside !== undefined)
    throw new OperatorError(`${document} refers to ${outside[0]}, outside of ${path.resolve(folder)}.`)
  if (places.some(([, place]) => place === contractName))
    throw new OperatorError(
      `${document} refers to ${contractName}, which it will be itself: rename that file.`,
    )
  return new Map([[own, contractName], ...places])
}

/** Returns the text of a file, with its references adapted to the new places. */
export function withPlaces(text: string, file: string, places: Places): string {
  const from = path.dirname(path.resolve(file))
  const to = path.posix.dirname(places.get(path.resolve(file)) ?? '')
  return text.replace(reference, (whole, before, ref) => {
    const place = places.get(path.resolve(from, decoded(ref)))
    const moved = place === undefined ? undefined : path.posix.relative(to, place)
    return moved === undefined || moved === path.posix.normalize(decoded(ref))
      ? whole
      : before + encodeURI(moved)
  })
}

// Matches `$ref: 'a.yaml#/A'` and `{"$ref": "a.yaml"}`, and in the mapping of a discriminator `dog:
// a.yaml#/Dog`. There, it requires a pointer: without one, a value could be any text.
const reference = /((?:\$ref["']?\s*:\s*|:[ \t]*(?=["']?[^"'\s#,{}[\]]+#))["']?)([^"'\s#,{}[\]]+)/g

function decoded(ref: string): string {
  try {
    return decodeURIComponent(ref)
  } catch {
    return ref
  }
}
