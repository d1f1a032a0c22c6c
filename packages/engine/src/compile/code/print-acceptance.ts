// Prints the function that accepts a body and writes it in one pass (`Accept` in judges.ts), for schemas of
// objects, arrays and plain values as most contracts have them. On anything unusual, in a schema or in a
// value, it gives no verdict: what it accepts, the schema's validator accepts, too, and its writer writes the
// same bytes.

import type { Schema } from '../../document/contract.js'
import { type AnySchema, isNode } from '../../document/keywords.js'
import type { Reader } from '../../document/reader.js'
import { hasInheritedName } from '../../values/inherited-names.js'
import { literalOf } from './literals.js'
import { countTests, KnownSchemas, Names, numberTests, plainTests, textTests } from './plain-values.js'

/** The text of a function that makes it from the runtime; undefined for a schema that it does not know. */
export function printAcceptance(schema: AnySchema, reader: Reader): string | undefined {
  const printer = new Printer(reader)
  const code = printer.valueOf(schema, 'body', '')
  if (code === undefined) return undefined
  return `(runtime)=>{
const{quoted}=runtime
${printer.names.constants.join('')}return(body)=>{
let out=''
${code}return out
}}`
}

/** Prints code that appends the JSON of a value to `out`, or returns. */
class Printer {
  readonly names = new Names()
  readonly #known: KnownSchemas

  constructor(reader: Reader) {
    this.#known = new KnownSchemas(reader, ['readOnly'])
  }

  /**
   * @param value its name in the code
   * @param before the JSON that comes before it
   * @returns undefined for a schema that is not known
   */
  valueOf(schema: AnySchema, value: string, before: string): string | undefined {
    return this.#known.printed(schema, (target) => this.#ofType(target, value, before))
  }

  #ofType(schema: Schema, value: string, before: string): string | undefined {
    switch (schema.type) {
      case 'object':
        return this.#object(schema, value, before)
      case 'array':
        return this.#array(schema, value, before)
      case 'string':
        return this.#text(schema, value, before)
      case 'boolean':
        return written([`typeof ${value}==='boolean'`], before, value)
      default:
        return written(numberTests(schema, value), before, value)
    }
  }

  // Of a plain object, and no value that it inherits: each key is one that is declared, and has a value.
  #object(schema: Schema, value: string, before: string): string | undefined {
    const { properties = {}, required = [], additionalProperties: others = true } = schema
    const names = Object.keys(properties as object)
    const needed = names.filter((name) => (required as readonly string[]).includes(name))
    const isWhole = (required as readonly string[]).every((name) => names.includes(name))
    if (typeof others !== 'boolean' || !isWhole || hasInheritedName(schema)) return undefined
    const [keys, isEmpty] = ['k', 'e'].map((each) => this.names.name(each))
    const fields = this.#fields(schema, value, { needed, keys, isEmpty } as FieldNames)
    if (fields === undefined) return undefined
    return `${returnUnless(plainTests(value))}let ${keys}=-${needed.length},${isEmpty}=true
for(const _ in ${value})${keys}++
${before === '' ? '' : write(before)}${fields}if(${keys}!==0)return
out+=${needed.length > 0 ? `'}'` : `${isEmpty}?'{}':'}'`}
`
  }

  // Required ones first, as the writer has them: behind one of these, no other needs to ask if it is the
  // first.
  #fields(schema: Schema, value: string, { needed, keys, isEmpty }: FieldNames): string | undefined {
    const properties = (schema.properties ?? {}) as Readonly<Record<string, AnySchema>>
    const others = Object.keys(properties).filter((name) => !needed.includes(name))
    const codes = [...needed, ...others].map((name, i) => {
      const field = this.names.name('v')
      const key = `${JSON.stringify(name)}:`
      const [first, next] = [`{${key}`, `,${key}`]
      const isSure = needed.length > 0
      const code = this.valueOf(properties[name] as AnySchema, field, isSure ? (i === 0 ? first : next) : '')
      if (code === undefined) return undefined
      const read = `const ${field}=${value}[${JSON.stringify(name)}]\n`
      if (needed.includes(name)) return `${read}${code}`
      const begin = isSure ? '' : `out+=${isEmpty}?${literalOf(first)}:${literalOf(next)}\n${isEmpty}=false\n`
      return `${read}if(${field}!==undefined){\n${keys}--\n${begin}${code}}\n`
    })
    return codes.includes(undefined) ? undefined : codes.join('')
  }

  #array(schema: Schema, value: string, before: string): string | undefined {
    const { items } = schema
    const [index, item] = [this.names.name('i'), this.names.name('v')]
    const code = isNode(items) ? this.valueOf(items, item, '') : undefined
    const counts = countTests(schema, value)
    if (code === undefined || counts === undefined) return undefined
    return `${returnUnless([`Array.isArray(${value})&&${value}.toJSON===undefined`, ...counts])}${write(`${before}[`)}
for(let ${index}=0;${index}<${value}.length;${index}++){
const ${item}=${value}[${index}]
if(${index}!==0)out+=','
${code}}
out+=']'
`
  }

  #text(schema: Schema, value: string, before: string): string | undefined {
    const tests = textTests(schema, value, this.names)
    const listed = schema.enum as readonly string[] | undefined
    const isPlain = listed?.every((each) => JSON.stringify(each) === `"${each}"`)
    const json = isPlain ? `'"'+${value}+'"'` : `quoted(${value})`
    return written(tests && [`typeof ${value}==='string'`, ...tests], before, json)
  }
}

/** What the code of an object's fields refers to. */
interface FieldNames {
  readonly needed: readonly string[]
  /** Counts keys beyond those that have been written. */
  readonly keys: string
  /** Whether nothing has been written. */
  readonly isEmpty: string
}

function written(tests: readonly string[] | undefined, before: string, json: string): string | undefined {
  return tests && returnUnless(tests) + write(before, json)
}

function returnUnless(tests: readonly string[]): string {
  return `if(!(${tests.join('&&')}))return\n`
}

function write(before: string, value?: string): string {
  const parts = [...(before === '' ? [] : [literalOf(before)]), ...(value === undefined ? [] : [value])]
  return `out+=${parts.join('+')}\n`
}
