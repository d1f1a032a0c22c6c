// Writes the parts of Ajv's generated code that keywords need. The code may run in another process
// (code/print.ts), so it can only call functions of the runtime, and functions which those create from values
// of the schema.

import { _, type Code, type KeywordCxt, Name, nil } from 'ajv'
import { nameInRuntime } from '../../runtime/runtime.js'

// biome-ignore lint/suspicious/noExplicitAny: of any parameters, which the code hands to it
type AnyFunction = (...args: any[]) => unknown

/** A value, and the code that stands for it. */
export interface Part<Value> {
  readonly value: Value
  readonly code: Code
}

/** Returns the code of a call: of a function of the runtime, or of one created by it. */
export function call(cxt: KeywordCxt, called: AnyFunction | Name, ...args: readonly Code[]): Code {
  const name = called instanceof Name ? called : ofRuntime(cxt, called)
  return _`${name}(${listOf(args)})`
}

/** Returns the name of a value of the runtime. */
export function ofRuntime({ gen }: KeywordCxt, ref: object): Name {
  return gen.scopeValue('func', { ref, code: codeInRuntime(ref) })
}

/** Creates a function with a function of the runtime, and returns its name in the code. */
export function make<Made, Values extends readonly unknown[]>(
  cxt: KeywordCxt,
  maker: (...values: Values) => Made,
  ...parts: { readonly [Key in keyof Values]: Part<Values[Key]> }
): Name {
  const values = parts.map(({ value }) => value) as unknown as Values // TypeScript sees no tuple in `map`
  return made(cxt, maker(...values), maker, parts)
}

/** Names a function that exists already; `maker` and `parts` tell the code how to create it again. */
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

/** The value of the keyword. */
export function ofSchema<Value>({ schema, schemaValue }: KeywordCxt): Part<Value> {
  return { value: schema as Value, code: _`${schemaValue}` } // Ajv has checked its type
}

/** The schema that contains the keyword. */
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
