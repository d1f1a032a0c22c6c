// Prints the function that judges a part of a request and reads it in one pass (`Read` in judges.ts): the
// parameters of a location, which are texts, or a body of JSON. As print-acceptance.ts, it gives no verdict
// on anything unusual; what it accepts, the part's validator accepts, too, and would change in the same way.

import type { Schema } from '../../document/contract.js'
import { type AnySchema, isNode, schemasIn } from '../../document/keywords.js'
import type { Reader } from '../../document/reader.js'
import { isBig } from '../../lib/exact-number.js'
import { hasInheritedName } from '../../values/inherited-names.js'
import { literalOf } from './literals.js'
import { countTests, KnownSchemas, Names, numberTests, plainTests, textTests } from './plain-values.js'

/** How a part is read. */
interface How {
  /** Whether its values are texts. */
  readonly isText: boolean
  /** Whether it may have nothing else than what is declared. */
  readonly isWhole: boolean
  readonly nameOf: (name: string) => string
}

const same = (name: string) => name
const asText = { isText: true, isWhole: false, nameOf: same }

/** By Fastify's names. Cookies are read with their styles. */
const parts: Readonly<Record<string, How>> = {
  params: asText,
  querystring: { ...asText, isWhole: true },
  headers: { ...asText, nameOf: (name) => name.toLowerCase() },
  body: { isText: false, isWhole: true, nameOf: same },
}

/** The text of a function that makes it from the runtime; undefined for a schema that it does not know. */
export function printReader(schema: AnySchema, part: string | undefined, reader: Reader): string | undefined {
  const how = parts[part ?? '']
  if (how === undefined) return undefined
  const printer = new Printer(reader, how)
  const code = printer.part(schema)
  if (code === undefined) return undefined
  return `(runtime)=>{
${printer.names.constants.join('')}return(part)=>{
${code}return true
}}`
}

/** Prints code that returns false unless it knows that a value is valid. */
class Printer {
  readonly names = new Names()
  readonly #known: KnownSchemas
  // What is done once all is known to be valid.
  readonly #changes: string[] = []

  constructor(
    reader: Reader,
    readonly how: How,
  ) {
    this.#known = new KnownSchemas(reader, ['writeOnly', ...(how.isText ? ['default'] : [])])
  }

  part(schema: AnySchema): string | undefined {
    return this.#known.printed(schema, (target) => {
      const code = target.type === 'object' ? this.#object(target, 'part', true) : undefined
      return code && code + this.#changes.join('')
    })
  }

  // Each key of a whole one is declared, and has a value.
  #object(schema: Schema, value: string, isPart = false): string | undefined {
    const { properties = {}, required = [], additionalProperties: others = true } = schema
    const needed = required as readonly string[]
    const all = Object.entries(properties as Readonly<Record<string, AnySchema>>)
    const areDeclared = needed.every((name) => Object.hasOwn(properties as object, name))
    if (typeof others !== 'boolean' || !areDeclared || hasInheritedName(schema)) return undefined
    const keys = this.how.isWhole || !others ? this.names.name('k') : undefined
    const fields = all.map(([name, each]) =>
      needed.includes(name)
        ? this.#needed(each, value, name, isPart)
        : this.#optional(each, value, name, isPart, keys),
    )
    if (fields.includes(undefined)) return undefined
    const [begin, end] =
      keys !== undefined
        ? [`let ${keys}=0\nfor(const _ in ${value})${keys}++\n`, refuseUnless([`${keys}===${needed.length}`])]
        : ['', '']
    // What parses parameters has a prototype of its own.
    const tests = this.how.isText
      ? [`typeof ${value}==='object'&&${value}!==null&&!Array.isArray(${value})`]
      : plainTests(value)
    return `${refuseUnless(tests)}${begin}${fields.join('')}${end}`
  }

  #needed(schema: AnySchema, object: string, name: string, isPart: boolean): string | undefined {
    const field = this.#fieldOf(schema, object, name, isPart)
    if (field === undefined) return undefined
    if (field.changed !== undefined) this.#changes.push(`${field.place}=${field.changed}\n`)
    return `${field.read}${field.code}`
  }

  // One of a schema that is not known may still be absent.
  #optional(
    schema: AnySchema,
    object: string,
    name: string,
    isPart: boolean,
    keys: string | undefined,
  ): string | undefined {
    const field = this.#fieldOf(schema, object, name, isPart)
    if (field === undefined) {
      const hasDefault = (schemasIn(schema) as readonly Schema[]).some((each) => each.default !== undefined)
      const isPlain = isNode(schema) && schema.$ref === undefined && !hasDefault
      return isPlain
        ? refuseUnless([`${object}[${literalOf(this.how.nameOf(name))}]===undefined`])
        : undefined
    }
    const { value, place, changed, otherwise } = field
    const change = changed === undefined ? '' : `if(${value}!==undefined)${place}=${changed}\n`
    this.#changes.push(
      change,
      otherwise === undefined ? '' : `if(${value}===undefined)${place}=${otherwise}\n`,
    )
    const count = keys === undefined ? '' : `${keys}--\n`
    return `${field.read}if(${value}!==undefined){\n${count}${field.code}}\n`
  }

  #fieldOf(schema: AnySchema, object: string, given: string, isPart: boolean): Field | undefined {
    const name = literalOf(this.how.nameOf(given))
    return this.#known.printed(schema, (target) => {
      const value = this.names.name('v')
      const judged = this.how.isText ? this.#text(target, value) : this.#json(target, value)
      if (judged === undefined || (judged.changed !== undefined && !isPart)) return undefined
      const otherwise = target.default === undefined ? undefined : defaultOf(target)
      if (target.default !== undefined && otherwise === undefined) return undefined
      const isOwn = this.how.isText ? refuseUnless([`Object.hasOwn(${object},${name})`]) : ''
      const read = `const ${value}=${object}[${name}]\n${judged.declared}`
      return { ...judged, value, read, place: `${object}[${name}]`, code: isOwn + judged.code, otherwise }
    })
  }

  // As many digits as any number has exactly.
  #text(schema: Schema, value: string): Judged | undefined {
    const { type, format } = schema
    if (type === 'string') return judged(withType('string', value, textTests(schema, value, this.names)))
    if (type === 'boolean') return judged([`(${value}==='true'||${value}==='false')`], `${value}==='true'`)
    if (type !== 'integer' && type !== 'number') return undefined
    const number = this.names.name('n')
    const tests = numberTests(schema, number)
    if (tests === undefined) return undefined
    const numeral = this.names.constant('/^-?(?:0|[1-9]\\d{0,14})$/')
    return {
      declared: `let ${number}\n`,
      code: `${refuseUnless([`typeof ${value}==='string'`, `${numeral}.test(${value})`])}${number}=+${value}\n${refuseUnless(tests)}`,
      changed: type === 'integer' && isBig(format) ? `BigInt(${number})` : number,
    }
  }

  #json(schema: Schema, value: string): Judged | undefined {
    const { type, format } = schema
    if (type === 'string') return judged(withType('string', value, textTests(schema, value, this.names)))
    if (type === 'boolean') return judged([`typeof ${value}==='boolean'`])
    if (type === 'object' || type === 'array') {
      const code = type === 'object' ? this.#object(schema, value) : this.#array(schema, value)
      return code === undefined ? undefined : { declared: '', code, changed: undefined }
    }
    const tests = numberTests(schema, value)
    return type === 'integer' && isBig(format)
      ? judged(tests, `BigInt(${value})`)
      : judged(withType('number', value, tests))
  }

  #array(schema: Schema, value: string): string | undefined {
    const item = this.names.name('v')
    const counts = countTests(schema, value)
    const each = isNode(schema.items)
      ? this.#known.printed(schema.items, (target) => this.#json(target, item))
      : undefined
    if (each === undefined || each.changed !== undefined || counts === undefined) return undefined
    return `${refuseUnless([`Array.isArray(${value})`, ...counts])}for(const ${item} of ${value}){\n${each.code}}\n`
  }
}

/** The code that judges a value. */
interface Judged {
  /** Of variables that `changed` needs. */
  readonly declared: string
  readonly code: string
  /** What the value becomes, unless it stays. */
  readonly changed: string | undefined
}

/** The code for a property. */
interface Field extends Judged {
  readonly value: string
  readonly read: string
  readonly place: string
  /** What an absent one becomes. */
  readonly otherwise: string | undefined
}

function judged(tests: readonly string[] | undefined, changed?: string): Judged | undefined {
  return tests && { declared: '', code: refuseUnless(tests), changed }
}

function withType(type: string, value: string, tests: readonly string[] | undefined): string[] | undefined {
  return tests && [`typeof ${value}==='${type}'`, ...tests]
}

// As it is once it has been changed like a value that was sent.
function defaultOf({ type, format, default: value }: Schema): string | undefined {
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  if (type === 'integer' && isNumber) return isBig(format) ? `${BigInt(value)}n` : literalOf(Number(value))
  return typeof value === type ? literalOf(value) : undefined
}

function refuseUnless(tests: readonly string[]): string {
  return `if(!(${tests.join('&&')}))return false\n`
}
