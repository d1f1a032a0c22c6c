// What keywords write into the code that Ajv generates.

import { _, type Code, type KeywordCxt, nil } from 'ajv'

/** A call of a function, in the generated code. */
export function call({ gen }: KeywordCxt, ref: (...values: never[]) => unknown, ...args: Code[]): Code {
  const list = args.reduce<Code>((all, each, i) => (i === 0 ? _`${each}` : _`${all}, ${each}`), nil)
  return _`${gen.scopeValue('func', { ref })}(${list})`
}
