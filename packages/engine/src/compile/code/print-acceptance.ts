// Prints the function that accepts a body and writes it in one pass (`Accept` in judges.ts), for schemas of objects,
// arrays and plain values as most contracts have them. On anything unusual, in a schema or in a value, it gives no
// verdict: what it accepts, the schema's validator accepts, too, and its writer writes the same bytes.

import type { Schema } from '../../document/contract.js'
import { type AnySchema, exactNumbers, isNode } from '../../document/keywords.js'
import { patternSource } from '../../document/patterns.js'
import type { Reader } from '../../document/reader.js'
import { integerRange } from '../../lib/exact-number.js'
import { formats } from '../../serve/schemas/formats.js'
import { hasInheritedName } from '../../serve/schemas/inherited-names.js'
import { literalOf } from './literals.js'

/** The text of a function that makes it from the runtime; undefined for a schema that it does not know. */
export function printAcceptance(schema: AnySchema, reader: Reader): string | undefined {
  const printer = new Printer(reader)
  const code = printer.valueOf(schema, 'body', '')
  if (code === undefined) return undefined
  return `(runtime)=>{
const{quoted}=runtime
${printer.constants.join('')}return(body)=>{
let out=''
${code}return out
}}`
}

/** Keywords that neither a validator nor a writer looks at. */
const annotations: ReadonlySet<string> = new Set([
  ...['title', 'description', 'example', 'examples', 'deprecated', 'readOnly', 'externalDocs', '$comment'],
])

/** The other keywords that are known, by type. */
const known: Readonly<Record<string, ReadonlySet<string>>> = {
  object: new Set(['type', 'properties', 'required', 'additionalProperties']),
  array: new Set(['type', 'items', 'minItems', 'maxItems']),
  string: new Set(['type', 'minLength', 'maxLength', 'pattern', 'format', 'enum']),
  integer: new Set(['type', 'format', 'minimum', 'maximum']),
  number: new Set(['type', 'format', 'minimum', 'maximum']),
  boolean: new Set(['type']),
}

const depthMax = 20

/** Prints code that appends the JSON of a value to `out`, or returns. */
class Printer {
  readonly constants: string[] = []
  #names = 0
  #depth = 0

  constructor(readonly reader: Reader) {}

  /**
   * @param value its name in the code
   * @param before the JSON that comes before it
   * @returns undefined for a schema that is not known
   */
  valueOf(schema: AnySchema, value: string, before: string): string | undefined {
    const target = this.#resolved(schema)
    if (target === undefined || !isKnown(target) || this.#depth === depthMax) return undefined
    this.#depth++
    const code = this.#ofType(target, value, before)
    this.#depth--
    return code
  }

  // What is said beside a reference counts for a validator, and not for a writer.
  #resolved(schema: AnySchema): Schema | undefined {
    if (!isNode(schema)) return undefined
    if (schema.$ref === undefined) return schema
    const isAlone = Object.keys(schema).every((name) => name === '$ref' || isAnnotation(name))
    const target = this.reader.node(schema) as Schema
    return isAlone && target.$ref === undefined ? target : undefined
  }

  #ofType(schema: Schema, value: string, before: string): string | undefined {
    switch (schema.type) {
      case 'object':
        return this.#object(schema, value, before)
      case 'array':
        return this.#array(schema, value, before)
      case 'string':
        return this.#string(schema, value, before)
      case 'boolean':
        return returnUnless([`typeof ${value}==='boolean'`]) + write(before, value)
      default:
        return numeric(schema, value, before)
    }
  }

  // Of a plain object, and no value that it inherits: each key is one that is declared, and has a value.
  #object(schema: Schema, value: string, before: string): string | undefined {
    const { properties = {}, required = [], additionalProperties: others = true } = schema
    const names = Object.keys(properties as object)
    const needed = names.filter((name) => (required as readonly string[]).includes(name))
    const isWhole = (required as readonly string[]).every((name) => names.includes(name))
    if (typeof others !== 'boolean' || !isWhole || hasInheritedName(schema)) return undefined
    const [prototype, keys, isEmpty] = ['p', 'k', 'e'].map((each) => this.#name(each))
    const fields = this.#fields(schema, value, { needed, keys, isEmpty } as FieldNames)
    if (fields === undefined) return undefined
    return `if(typeof ${value}!=='object'||${value}===null)return
const ${prototype}=Object.getPrototypeOf(${value})
if(${prototype}!==Object.prototype&&${prototype}!==null)return
let ${keys}=-${needed.length},${isEmpty}=true
for(const _ in ${value})${keys}++
${before === '' ? '' : write(before)}${fields}if(${keys}!==0)return
out+=${needed.length > 0 ? `'}'` : `${isEmpty}?'{}':'}'`}
`
  }

  // Required ones first, as the writer has them: behind one of these, no other needs to ask if it is the first.
  #fields(schema: Schema, value: string, { needed, keys, isEmpty }: FieldNames): string | undefined {
    const properties = (schema.properties ?? {}) as Readonly<Record<string, AnySchema>>
    const others = Object.keys(properties).filter((name) => !needed.includes(name))
    const codes = [...needed, ...others].map((name, i) => {
      const field = this.#name('v')
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
    const { items, minItems = 0, maxItems = Number.MAX_SAFE_INTEGER } = schema
    const [index, item] = [this.#name('i'), this.#name('v')]
    const code = isNode(items) ? this.valueOf(items, item, '') : undefined
    if (code === undefined || typeof minItems !== 'number' || typeof maxItems !== 'number') return undefined
    const tests = [
      `Array.isArray(${value})&&${value}.toJSON===undefined`,
      ...(minItems > 0 ? [`${value}.length>=${minItems}`] : []),
      ...(maxItems < Number.MAX_SAFE_INTEGER ? [`${value}.length<=${maxItems}`] : []),
    ]
    return `${returnUnless(tests)}${write(`${before}[`)}
for(let ${index}=0;${index}<${value}.length;${index}++){
const ${item}=${value}[${index}]
if(${index}!==0)out+=','
${code}}
out+=']'
`
  }

  #string(schema: Schema, value: string, before: string): string | undefined {
    const tests = [this.#enumOf(schema, value), this.#lengthOf(schema, value), this.#formOf(schema, value)]
    if (tests.includes(undefined)) return undefined
    // Listed texts are known.
    const isPlain = (schema.enum as string[] | undefined)?.every(
      (each) => JSON.stringify(each) === `"${each}"`,
    )
    return (
      returnUnless([`typeof ${value}==='string'`, ...(tests as string[][]).flat()]) +
      write(before, isPlain ? `'"'+${value}+'"'` : `quoted(${value})`)
    )
  }

  #enumOf({ enum: values }: Schema, value: string): string[] | undefined {
    if (values === undefined) return []
    if (!Array.isArray(values) || !values.every((each) => typeof each === 'string')) return undefined
    return [`${this.#constant(`new Set(${literalOf(values)})`)}.has(${value})`]
  }

  // By characters, of which a text has at most its length, and at least half of it.
  #lengthOf({ minLength = 0, maxLength }: Schema, value: string): string[] | undefined {
    if (typeof minLength !== 'number' || !['number', 'undefined'].includes(typeof maxLength)) return undefined
    const atLeast = minLength < 2 ? minLength : 2 * minLength
    return [
      ...(atLeast > 0 ? [`${value}.length>=${atLeast}`] : []),
      ...(maxLength === undefined ? [] : [`${value}.length<=${maxLength}`]),
    ]
  }

  #formOf({ pattern, format }: Schema, value: string): string[] | undefined {
    const tests: string[] = []
    if (pattern !== undefined) {
      if (typeof pattern !== 'string' || patternSource(pattern) === undefined) return undefined
      tests.push(`${this.#constant(`runtime.toRegExp(${literalOf(pattern)},'u')`)}.test(${value})`)
    }
    if (format !== undefined) {
      const validate = typeof format === 'string' ? formats[format]?.validate : undefined
      if (validate === undefined) return undefined
      const name = this.#constant(`runtime.formats[${literalOf(format)}]`)
      tests.push(typeof validate === 'function' ? `${name}(${value})` : `${name}.test(${value})`)
    }
    return tests
  }

  #constant(code: string): string {
    const name = this.#name('c')
    this.constants.push(`const ${name}=${code}\n`)
    return name
  }

  #name(prefix: string): string {
    return `${prefix}${this.#names++}`
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

function isKnown(schema: Schema): boolean {
  const { type } = schema
  const keywords = typeof type === 'string' && Object.hasOwn(known, type) ? known[type] : undefined
  return (
    keywords !== undefined && Object.keys(schema).every((name) => keywords.has(name) || isAnnotation(name))
  )
}

function isAnnotation(name: string): boolean {
  return annotations.has(name) || (name.startsWith('x-') && name !== exactNumbers)
}

// A bigint, or a number that is as exact.
function numeric(schema: Schema, value: string, before: string): string | undefined {
  const { type, format, minimum, maximum } = schema
  const bounds = [minimum, maximum]
  if (!bounds.every((each) => ['number', 'bigint', 'undefined'].includes(typeof each))) return undefined
  if (type === 'number' && format !== undefined && format !== 'double') return undefined
  return (
    returnUnless([
      type === 'integer' ? isInteger(value, format) : `Number.isFinite(${value})`,
      ...(minimum === undefined ? [] : [`${value}>=${literalOf(minimum)}`]),
      ...(maximum === undefined ? [] : [`${value}<=${literalOf(maximum)}`]),
    ]) + write(before, value)
  )
}

// Comparing a number with a bigint takes longer than with another number.
function isInteger(value: string, format: unknown): string {
  const [least, most] = integerRange(format)
  const isBig = `${value}>=${least}n&&${value}<=${most}n`
  const inRange = least < Number.MIN_SAFE_INTEGER ? '' : `&&${value}>=${least}&&${value}<=${most}`
  return `(typeof ${value}==='bigint'?${isBig}:Number.isSafeInteger(${value})${inRange})`
}

function returnUnless(tests: readonly string[]): string {
  return `if(!(${tests.join('&&')}))return\n`
}

function write(before: string, value?: string): string {
  const parts = [...(before === '' ? [] : [literalOf(before)]), ...(value === undefined ? [] : [value])]
  return `out+=${parts.join('+')}\n`
}
