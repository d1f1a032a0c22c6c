// Tag Objects: in OpenAPI 3.2 one may be nested under another.

import { type Node, nodesOf, type Reader } from '../../document/reader.js'

/** A tag with those that are nested under it. */
export interface Tag {
  readonly name: string
  readonly title: string
  readonly description: unknown
  readonly inner: readonly Tag[]
}

/** The tags of a document that has been read, in its order: those without a parent. */
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

/** The names of a tag and of those within it. */
export function namesWithin({ name, inner }: Tag): string[] {
  return [name, ...inner.flatMap(namesWithin)]
}

/** Checks that each parent is declared, and that none is within itself. */
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

// Of what is farther up, the tag there has the fault.
function parentFault(name: unknown, parents: ReadonlyMap<unknown, unknown>): string | undefined {
  const parent = parents.get(name)
  if (!parents.has(parent)) return 'is not declared'
  const above = new Set()
  for (let each = parent; each !== undefined && !above.has(each); each = parents.get(each)) above.add(each)
  return above.has(name) ? 'is nested under it' : undefined
}
