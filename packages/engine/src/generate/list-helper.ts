// Helper types that go through all of a value, such as `Readable`, and lists: TypeScript resolves the items
// of an array when they are looked into, but those of a tuple, and what a mapped type makes of an array, at
// once, which for a list of itself has no end.

// Of tuples that have themselves with nothing around: what is deeper is as in the schema.
const tupleDepthMax = 6

/**
 * The declaration of `$<helper>Items`, what a helper type makes of a list. No schema has a type of that name.
 * @param parameters further ones of the helper: their names and constraints
 */
export function listHelper(helper: string, parameters: readonly (readonly [string, string])[] = []): string {
  const declared = parameters.map(([name, constraint]) => `, ${name} extends ${constraint}`).join('')
  const given = parameters.map(([name]) => `, ${name}`).join('')
  const of = (item: string) => `${helper}<${item}${given}>`
  return `type $${helper}Items<List extends readonly unknown[]${declared}, Depth extends 0[] = []> = List[number][] extends List
  ? ${of('List[number]')}[]
  : Depth['length'] extends ${tupleDepthMax}
    ? List
    : { [Index in keyof List]: $${helper}Item<List[Index]${given}, Depth> }
type $${helper}Item<Item${declared}, Depth extends 0[]> = Item extends readonly unknown[]
  ? $${helper}Items<Item${given}, [...Depth, 0]>
  : ${of('Item')}
`
}
