// Prints the functions that write values as JSON, by their schemas: the declared fields in the order of the
// schema, required ones first. They write values that Ajv has accepted, and judge nothing. The runtime
// (json.ts) writes what a schema leaves open, such as undeclared fields or a choice among schemas. Fastify's
// own writer has no exact integers there, and a general one takes twice the time of a page.

import type { Schema } from '../../document/contract.js'
import { type AnySchema, isNode } from '../../document/keywords.js'
import type { Reader } from '../../document/reader.js'
import { literalOf } from './literals.js'
import { PrintedCopies } from './print-copies.js'
import { type Field, fieldCode, fieldsOf, unlessPlain, type Written, writtenAs } from './written.js'

/** Prints writers that share the functions of their schemas. */
export class PrintedWriters {
  readonly #writers: string[] = []
  readonly #functions: string[] = []
  /** The names of the functions, by the schemas of objects and arrays. */
  readonly #names = new Map<Schema, string>()
  readonly #copies: PrintedCopies

  constructor(readonly reader: Reader) {
    this.#copies = new PrintedCopies(reader)
  }

  /** @param name the name of the writer, an identifier in JavaScript */
  add(name: string, schema: AnySchema): void {
    const json = this.#json(schema, 'v')
    this.#writers.push(`\n${name}:v=>${json === undefined ? 'json(v)' : `''+${json}`}`)
  }

  /** Returns the code of a function that creates all writers from the runtime, by their names. */
  toString(): string {
    return `({hasFastStringify,json,numberOf,others,quoted})=>{
${[...this.#copies.functions, ...this.#functions].join('')}return{${this.#writers.join()}}}`
  }

  // Returns the code of a string, or of a value that becomes its JSON when it is added to a string. Undefined
  // if the schema does not tell the type of its values.
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
    this.#names.set(schema, name) // before it is printed: the schema may refer to itself
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

// Returns three pieces of code: one counts an object's other fields, one writes them, and one declares the
// names of the fields that are written already.
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
