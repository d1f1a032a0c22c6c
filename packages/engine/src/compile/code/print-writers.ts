// Prints the functions that write values as JSON, by their schemas: the declared fields in the order of the
// schema, the required ones first. They write what Ajv has accepted, and judge nothing. What a schema does
// not tell, such as the fields of an open object or a choice among schemas, the runtime writes (json.ts).

import type { Schema } from '../../document/contract.js'
import { type AnySchema, extendedBy, isNode } from '../../document/keywords.js'
import type { Reader } from '../../document/reader.js'
import { literalOf } from './literals.js'

/** Writers that share the functions of their schemas. */
export class PrintedWriters {
  readonly #writers: string[] = []
  readonly #functions: string[] = []
  /** By the schemas of objects and arrays. */
  readonly #names = new Map<Schema, string>()

  constructor(readonly reader: Reader) {}

  /** @param name that of the writer, a name in JavaScript */
  add(name: string, schema: AnySchema): void {
    const json = this.#json(schema, 'v')
    this.#writers.push(`\n${name}:v=>${json === undefined ? 'json(v)' : `''+${json}`}`)
  }

  /** The text of a function that makes all writers, by their names, from the runtime. */
  toString(): string {
    return `({json,others,quoted})=>{
${this.#functions.join('')}return{${this.#writers.join()}}}`
  }

  // The code of a text, or of what becomes one when it is added to a text; undefined if the schema does not
  // tell of which type a value is.
  #json(schema: AnySchema, value: string): string | undefined {
    if (!isNode(schema)) return undefined
    const parts = [...extendedBy<Schema>(schema, (each) => this.reader.node(each))]
    const typed = parts.find(({ type }) => type !== undefined)
    const types = [typed?.type ?? []].flat() as string[] // it compiles
    const [type, ...more] = types.filter((each) => each !== 'null')
    if (typed === undefined || type === undefined || more.length > 0) return undefined
    const json = this.#ofType(type, typed, parts, value)
    return types.includes('null') ? `(${value}===null?'null':${json})` : json
  }

  #ofType(type: string, typed: Schema, parts: readonly Schema[], value: string): string {
    switch (type) {
      case 'object':
        return `${this.#named(parts[0] as Schema, (name) => this.#object(name, parts))}(${value})`
      case 'array':
        return `${this.#named(typed, (name) => this.#array(name, typed))}(${value})`
      case 'string':
        return isOfPlainTexts(typed) ? `'"'+${value}+'"'` : `quoted(${value})`
      default:
        return value
    }
  }

  #named(schema: Schema, print: (name: string) => string): string {
    const known = this.#names.get(schema)
    if (known !== undefined) return known
    const name = `f${this.#names.size}`
    this.#names.set(schema, name) // before it is printed: it may refer to itself
    this.#functions.push(print(name))
    return name
  }

  #array(name: string, { items, prefixItems }: Schema): string {
    const item = isNode(items) && prefixItems === undefined ? this.#json(items, 'a[i]') : undefined
    return `function ${name}(a){
let t='['
for(let i=0;i<a.length;i++)t+=(i===0?'':',')+${item ?? "(json(a[i])??'null')"}
return t+']'
}
`
  }

  #object(name: string, parts: readonly Schema[]): string {
    const { properties, required, isClosed } = fieldsOf(parts)
    const fields = Object.entries(properties).flatMap(([key, schema]) => {
      const isRequired = required.has(key)
      const json = this.#json(schema, isRequired ? `o[${literalOf(key)}]` : 'v')
      return json === undefined ? [] : [{ key, json, isRequired }]
    })
    const needed = fields.filter(({ isRequired }) => isRequired)
    const optional = fields.filter(({ isRequired }) => !isRequired)
    const isWhole = isClosed && fields.length === Object.keys(properties).length
    const begin = needed.map(({ key, json }, i) => `${before(key, i === 0 ? '{' : ',')}+${json}`).join('+')
    const [count, rest, declared] = isWhole ? ['', '', ''] : ofOthers(name, fields, needed.length)
    return `function ${name}(o){
${returnUnlessPlain}let t=${begin === '' ? "''" : begin},v
${count}${optional.map((each) => optionalField(each, !isWhole)).join('')}${rest}\
return ${begin === '' ? "'{'+t.slice(1)+'}'" : "t+'}'"}
}
${declared}`
  }
}

// An object has its fields as they are written if it inherits none, and is no other value in JSON.
const returnUnlessPlain = `const p=Object.getPrototypeOf(o)
if((p!==Object.prototype&&p!==null)||typeof o.toJSON==='function')return json(o)
`

// What counts the fields of an object beyond those that are written, what writes them, and the names of the
// rest.
function ofOthers(name: string, fields: readonly { readonly key: string }[], needed: number): string[] {
  return [
    `let k=-${needed}\nfor(const _ in o)k++\n`,
    `if(k!==0)t+=others(o,d${name})\n`,
    `const d${name}=new Set(${literalOf(fields.map(({ key }) => key))})\n`,
  ]
}

// Those of all that describe the same object. Closed by one of them, it has no others than that one's.
function fieldsOf(parts: readonly Schema[]) {
  const all = parts.flatMap(({ properties = {} }) => Object.entries(properties as object))
  return {
    properties: Object.fromEntries(all) as Readonly<Record<string, AnySchema>>,
    required: new Set(parts.flatMap(({ required = [] }) => required as readonly string[])),
    isClosed: parts.some((each) => each.additionalProperties === false && !('patternProperties' in each)),
  }
}

// What an object inherits under a name such as `constructor` is no field of it.
function optionalField({ key, json }: { key: string; json: string }, isCounted: boolean): string {
  const field = `o[${literalOf(key)}]`
  const read = key in Object.prototype ? `Object.hasOwn(o,${literalOf(key)})?${field}:undefined` : field
  return `v=${read}\nif(v!==undefined)${isCounted ? `{k--;t+=` : 't+='}${before(key, ',')}+${json}${isCounted ? '}' : ''}\n`
}

function before(key: string, separator: string): string {
  return literalOf(`${separator}${JSON.stringify(key)}:`)
}

function isOfPlainTexts({ enum: values }: Schema): boolean {
  if (!Array.isArray(values)) return false
  return values.every((each) => each === null || JSON.stringify(each) === `"${each}"`)
}
