// Lists in helper types that go through a whole value, such as `Readable`. TypeScript resolves the items of
// an array only when they are needed. It resolves those of a tuple, and of a mapped array, at once, which
// never ends for a list that contains itself.

// Bounds tuples that contain themselves directly: deeper levels stay as in the schema.
const tupleDepthMax = 6

/**
 * Returns the declaration of `$<helper>Items`, the result of a helper type for a list. No schema has a type
 * of that name.
 * @param parameters further type parameters of the helper: their names and constraints
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
