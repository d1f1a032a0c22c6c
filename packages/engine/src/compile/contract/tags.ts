// Reads Tag Objects: in OpenAPI 3.2, a tag may be nested under another.

import { type Node, nodesOf, type Reader } from '../../document/reader.js'

/** A tag, with the tags that are nested under it. */
export interface Tag {
  readonly name: string
  readonly title: string
  readonly description: unknown
  readonly inner: readonly Tag[]
}

/** Returns the tags without a parent, in the order of the document. The document has been checked. */
export function tagsOf(document: Node): readonly Tag[] {
  const all = nodesOf(document.tags)
  const under = (parent: unknown): Tag[] =>
    all
      .filter((each) => each.parent === parent)
      .map(({ name, summary, description }) => {
        return { name: String(name), title: String(summary ?? name), description, inner: under(name) }
      })
  return under(undefined)
}

/** Returns the names of a tag and of the tags within it. */
export function namesWithin({ name, inner }: Tag): string[] {
  return [name, ...inner.flatMap(namesWithin)]
}

/** Checks that each parent is declared, and that no tag is within itself. */
export function checkTags(reader: Reader): void {
  const parents = new Map(nodesOf(reader.document.tags).map(({ name, parent }) => [name, parent]))
  for (const [i, { name, parent }] of nodesOf(reader.document.tags).entries()) {
    const fault = parent === undefined ? undefined : parentFault(name, parents)
    if (fault !== undefined)
      reader.within(['tags', i, 'parent'], () =>
        reader.problem(`the tag ${name} has the parent ${parent}, which ${fault}`),
      )
  }
}

// If this tag is only below a circle of tags, the tags in the circle have the fault.
function parentFault(name: unknown, parents: ReadonlyMap<unknown, unknown>): string | undefined {
  const parent = parents.get(name)
  if (!parents.has(parent)) return 'is not declared'
  const above = new Set()
  for (let each = parent; each !== undefined && !above.has(each); each = parents.get(each)) above.add(each)
  return above.has(name) ? 'is nested under it' : undefined
}
