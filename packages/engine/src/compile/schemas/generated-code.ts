// What keywords write into the code that Ajv generates. It may run in another process than this one
// (code/print.ts), so it calls functions of the runtime, and such as they make of what a schema says.

import { _, type Code, type KeywordCxt, Name, nil } from 'ajv'
import { nameInRuntime } from '../../runtime/runtime.js'

// biome-ignore lint/suspicious/noExplicitAny: of any parameters, which the code hands to it
type AnyFunction = (...args: any[]) => unknown

/** A value, and the code that stands for it. */
export interface Part<Value> {
  readonly value: Value
  readonly code: Code
}

/** A call of a function: one of the runtime, or one that is made. */
export function call(cxt: KeywordCxt, called: AnyFunction | Name, ...args: readonly Code[]): Code {
  const name = called instanceof Name ? called : ofRuntime(cxt, called)
  return _`${name}(${listOf(args)})`
}

/** A value of the runtime. */
export function ofRuntime({ gen }: KeywordCxt, ref: object): Name {
  return gen.scopeValue('func', { ref, code: codeInRuntime(ref) })
}

/** A function that one of the runtime makes. */
export function make<Made, Values extends readonly unknown[]>(
  cxt: KeywordCxt,
  maker: (...values: Values) => Made,
  ...parts: { readonly [Key in keyof Values]: Part<Values[Key]> }
): Name {
  const values = parts.map(({ value }) => value) as unknown as Values // TypeScript sees no tuple in `map`
  return made(cxt, maker(...values), maker, parts)
}

/** A function that has been made already, and what makes it again. */
export function made(
  { gen }: KeywordCxt,
  ref: unknown,
  maker: AnyFunction,
  parts: readonly Part<unknown>[],
  member: Code = nil,
): Name {
  return gen.scopeValue('func', {
    ref,
    code: _`${codeInRuntime(maker)}(${listOf(parts.map(({ code }) => code))})${member}`,
  })
}

/** What the keyword says. */
export function ofSchema<Value>({ schema, schemaValue }: KeywordCxt): Part<Value> {
  return { value: schema as Value, code: _`${schemaValue}` } // as Ajv has checked its type
}

/** The schema that has the keyword. */
export function ofParent({ parentSchema, it }: KeywordCxt): Part<KeywordCxt['parentSchema']> {
  return { value: parentSchema, code: _`${it.topSchemaRef}${it.schemaPath}` }
}

export function literal<Value extends string | number | boolean>(value: Value): Part<Value> {
  return { value, code: _`${value}` }
}

function codeInRuntime(ref: object): Code {
  return _`runtime[${nameInRuntime(ref)}]`
}

function listOf(args: readonly Code[]): Code {
  return args.reduce<Code>((all, each, i) => (i === 0 ? _`${each}` : _`${all}, ${each}`), nil)
}
