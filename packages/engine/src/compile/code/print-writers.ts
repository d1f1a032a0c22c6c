// Prints the functions that write values as JSON, by their schemas: the declared fields in the order of the
// schema, the required ones first. They write what Ajv has accepted, and judge nothing. What a schema does
// not tell, such as the fields of an open object or a choice among schemas, the runtime writes (json.ts).
// Fastify's own writer has no exact integers there, and the general one takes twice the time of a page.

import type { Schema } from '../../document/contract.js'
import { type AnySchema, isNode } from '../../document/keywords.js'
import type { Reader } from '../../document/reader.js'
import { literalOf } from './literals.js'
import { PrintedCopies } from './print-copies.js'
import { type Field, fieldCode, fieldsOf, unlessPlain, type Written, writtenAs } from './written.js'

/** Writers that share the functions of their schemas. */
export class PrintedWriters {
  readonly #writers: string[] = []
  readonly #functions: string[] = []
  /** By the schemas of objects and arrays. */
  readonly #names = new Map<Schema, string>()
  readonly #copies: PrintedCopies

  constructor(readonly reader: Reader) {
    this.#copies = new PrintedCopies(reader)
  }

  /** @param name that of the writer, a name in JavaScript */
  add(name: string, schema: AnySchema): void {
    const json = this.#json(schema, 'v')
    this.#writers.push(`\n${name}:v=>${json === undefined ? 'json(v)' : `''+${json}`}`)
  }

  /** The text of a function that makes all writers, by their names, from the runtime. */
  toString(): string {
    return `({hasFastStringify,json,numberOf,others,quoted})=>{
${[...this.#copies.functions, ...this.#functions].join('')}return{${this.#writers.join()}}}`
  }

  // The code of a text, or of what becomes one when it is added to a text; undefined if the schema does not
  // tell of which type a value is.
  #json(schema: AnySchema, value: string): string | undefined {
    const written = writtenAs(schema, this.reader)
    if (written === undefined) return undefined
    const json = this.#ofType(written, value)
    return written.isNullable ? `(${value}===null?'null':${json})` : json
  }

  #ofType(written: Written, value: string): string {
    const { type, typed, parts } = written
    switch (type) {
      case 'object':
        return `${this.#named(parts[0], (name) => this.#object(name, written))}(${value})`
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

  #array(name: string, schema: Schema): string {
    const { items, prefixItems } = schema
    const item = isNode(items) && prefixItems === undefined ? this.#json(items, 'a[i]') : undefined
    const copy = this.#copies.of(schema, 'a')
    return `function ${name}(a){
${copy === undefined ? '' : `const c=hasFastStringify?${copy}:undefined\nif(c!==undefined)return JSON.stringify(c)\n`}\
let t='['
for(let i=0;i<a.length;i++)t+=(i===0?'':',')+${item ?? "(json(a[i])??'null')"}
return t+']'
}
`
  }

  #object(name: string, written: Written): string {
    const { fields: all, isClosed } = fieldsOf(written)
    const fields = all.flatMap((field) => {
      const json = this.#json(field.schema, field.isRequired ? fieldCode('o', field) : 'v')
      return json === undefined ? [] : [{ ...field, json }]
    })
    const needed = fields.filter(({ isRequired }) => isRequired)
    const optional = fields.filter(({ isRequired }) => !isRequired)
    const isWhole = isClosed && fields.length === all.length
    const begin = needed.map(({ key, json }, i) => `${before(key, i === 0 ? '{' : ',')}+${json}`).join('+')
    const [count, rest, declared] = isWhole ? ['', '', ''] : ofOthers(name, fields, needed.length)
    return `function ${name}(o){
${unlessPlain('o', 'json(o)')}let t=${begin === '' ? "''" : begin},v
${count}${optional.map((each) => optionalField(each, !isWhole)).join('')}${rest}\
return ${begin === '' ? "'{'+t.slice(1)+'}'" : "t+'}'"}
}
${declared}`
  }
}

// What counts the fields of an object beyond those that are written, what writes them, and the names of the
// rest.
function ofOthers(name: string, fields: readonly { readonly key: string }[], needed: number): string[] {
  return [
    `let k=-${needed}\nfor(const _ in o)k++\n`,
    `if(k!==0)t+=others(o,d${name})\n`,
    `const d${name}=new Set(${literalOf(fields.map(({ key }) => key))})\n`,
  ]
}

function optionalField(field: Field & { readonly json: string }, isCounted: boolean): string {
  const write = `t+=${before(field.key, ',')}+${field.json}`
  return `v=${fieldCode('o', field)}\nif(v!==undefined)${isCounted ? `{k--;${write}}` : write}\n`
}

function before(key: string, separator: string): string {
  return literalOf(`${separator}${JSON.stringify(key)}:`)
}

function isOfPlainTexts({ enum: values }: Schema): boolean {
  if (!Array.isArray(values)) return false
  return values.every((each) => each === null || JSON.stringify(each) === `"${each}"`)
}
