// Tries changes that contract-diff calls not breaking on values. The new schema must accept all that a client
// may send by the old one, and the old one must expect all that the service may send by the new one.

import { Ajv2020 } from 'ajv/dist/2020.js'
import { withDecisions } from 'contract-engine/tools'
import { rounds } from 'contract-testing/nightly'
import { editedSchema, Random, randomPart, randomSchema, randomValue } from 'contract-testing/random-schemas'
import t from 'tap'
import { diffContracts } from '../src/contract.js'

type Schema = Record<string, unknown>
type Judge = (value: unknown) => boolean

const pairs = rounds(300)
const valuesMax = 30

function documentOf(schema: Schema, part: Schema): Schema {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Body' } } }
  return {
    openapi: '3.1.0',
    paths: {
      '/t': { post: { requestBody: { content }, responses: { '200': { description: '', content } } } },
    },
    components: { schemas: { Body: schema, Part: part } },
  }
}

// Judges by the document as the server reads it.
function judgeOf(document: Schema, change: (schema: unknown) => unknown = (each) => each): Judge {
  const { components } = withDecisions(document).document as { components: { schemas: Schema } }
  const schemas = Object.fromEntries(
    Object.entries(components.schemas).map(([name, each]) => [name, change(each)]),
  )
  const ajv = new Ajv2020({ strict: false, logger: false, meta: false, validateSchema: false })
  ajv.addSchema({ components: { schemas } }, 'document')
  return ajv.compile({ $ref: 'document#/components/schemas/Body' }) as Judge
}

const memberKeywords = ['properties', 'patternProperties', 'items', 'prefixItems', 'additionalProperties']

// Forbids fields that the schema does not describe: clients do not send them, and the service does not write
// them.
function described(schema: unknown, isMember = true): unknown {
  if (Array.isArray(schema)) return schema.map((each) => described(each, isMember))
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([key, value]) => {
    if (!memberKeywords.includes(key)) {
      const isInPlace = ['allOf', 'anyOf', 'oneOf', 'then', 'else'].includes(key)
      return [key, isInPlace ? described(value, false) : value]
    }
    const isMap = key === 'properties' || key === 'patternProperties'
    return [key, isMap ? mapped(value as Schema) : described(value)]
  })
  const own = Object.fromEntries(entries)
  return isMember ? { allOf: [own], unevaluatedProperties: false } : own
}

function mapped(map: Schema): Schema {
  return Object.fromEntries(Object.entries(map).map(([name, each]) => [name, described(each)]))
}

// Allows any other fields, because clients ignore them.
function opened(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(opened)
  if (typeof schema !== 'object' || schema === null) return schema
  const keys = ['additionalProperties', 'unevaluatedProperties']
  const isClosed = keys.some((key) => (schema as Schema)[key] === false)
  const entries = Object.entries(schema).filter(([key]) => !isClosed || !keys.includes(key))
  return Object.fromEntries(entries.map(([key, value]) => [key, opened(value)]))
}

interface Edit {
  readonly before: Schema
  readonly after: Schema
  readonly part: Schema
  /** True if contract-diff reports nothing breaking. */
  readonly isSafe: { readonly request: boolean; readonly response: boolean }
}

function editOf(random: Random): Edit {
  const [before, part] = [randomSchema(random), randomPart(random)]
  const after = editedSchema(random, before)
  const changes = diffContracts(documentOf(before, part), documentOf(after, part))
  const breaking = changes.filter(({ bump }) => bump === 'major').map(({ where }) => where)
  const isSafe = (place: string) => !breaking.some((where) => where.startsWith(place))
  return { before, after, part, isSafe: { request: isSafe('body'), response: isSafe('200') } }
}

// Returns a function that tells how a value proves a safe edit to be breaking.
function contradictionBy({ before, after, part, isSafe }: Edit): (value: unknown) => string | undefined {
  const [old, now] = [documentOf(before, part), documentOf(after, part)]
  const [wasValid, isValid] = [judgeOf(old), judgeOf(now)]
  const [wasSent, isWritten, isIgnored] = [
    judgeOf(old, described),
    judgeOf(now, described),
    judgeOf(old, opened),
  ]
  return (value) => {
    if (isSafe.request && wasValid(value) && wasSent(value) && !isValid(value)) return 'is refused'
    const isWidened = isValid(value) && isWritten(value) && !wasValid(value) && !isIgnored(value)
    return isSafe.response && isWidened ? 'is not expected' : undefined
  }
}

t.test('no value contradicts what is called compatible', async (t) => {
  const safe = { request: 0, response: 0 }
  for (let seed = 1; seed <= pairs; seed++) {
    const random = new Random(seed)
    const edit = editOf(random)
    safe.request += Number(edit.isSafe.request)
    safe.response += Number(edit.isSafe.response)
    const contradictionOf = contradictionBy(edit)
    for (const schema of [edit.before, edit.after].flatMap((each) => Array(valuesMax).fill(each))) {
      const value = randomValue(random, schema, edit.part)
      const contradiction = contradictionOf(value)
      if (contradiction === undefined) continue
      t.fail(`${JSON.stringify({ seed, value, ...edit })} ${contradiction}`)
      break
    }
  }
  t.ok(Math.min(safe.request, safe.response) > pairs / 4, `tried enough edits: ${JSON.stringify(safe)}`)
})
