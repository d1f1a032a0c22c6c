// Compares contract-diff's "breaking" with the truth, for pairs of schemas of a small grammar. An edit breaks
// requests if a value that a client may send is refused after it; it breaks responses if the service may send
// a value that was impossible before. contract-diff must miss no such edit, and call no other one breaking.
//
// DIFF_SEED=7 npx tap packages/diff/test/truth.ts tries other pairs, DIFF_PAIRS=1000 more of them.

import { Ajv2020 } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { withDecisions } from 'contract-engine/tools'
import { rounds } from 'contract-testing/nightly'
import { Random } from 'contract-testing/random-schemas'
import t from 'tap'
import { diffContracts } from '../src/contract.js'
import { lineOf } from '../src/report.js'
import { type Named, type Pair, randomPair, type Schema, valuesFor } from './fixtures/small-schemas.js'

type Judge = (value: unknown) => boolean

const seed = Number(process.env.DIFF_SEED ?? 1)
const pairs = Number(process.env.DIFF_PAIRS ?? rounds(300))

function documentOf(schema: Schema, named: Named): Schema {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Body' } } }
  return {
    openapi: '3.1.0',
    paths: {
      '/t': { post: { requestBody: { content }, responses: { '200': { description: '', content } } } },
    },
    components: { schemas: { Body: schema, ...named } },
  }
}

// Returns plain JSON Schema, as the server reads it: a variant that a discriminator selects requires its
// value.
function plain(document: Schema): Schema {
  const { components } = withDecisions(document).document as { components: { schemas: Named } }
  const { Body = {} } = components.schemas
  const { discriminator, oneOf, ...others } = Body
  if (discriminator === undefined) return Body
  const { mapping } = discriminator as { mapping: Record<string, string> }
  const variants = (oneOf as { $ref: string }[]).map(({ $ref }) => {
    const values = Object.entries(mapping).flatMap(([value, target]) => (target === $ref ? [value] : []))
    const variant = components.schemas[$ref.split('/').at(-1) ?? ''] as Schema
    return {
      allOf: [variant, { type: 'object', required: ['kind'], properties: { kind: { enum: values } } }],
    }
  })
  return { ...others, anyOf: variants }
}

const ajv = new Ajv2020({
  strict: false,
  logger: false,
  meta: false,
  validateSchema: false,
  formats: fullFormats as object,
})
const judges = new Map<string, Judge>()

function judgeOf(schema: unknown): Judge {
  const key = JSON.stringify(schema)
  const judge = judges.get(key) ?? (ajv.compile(schema as Schema) as Judge)
  judges.set(key, judge)
  return judge
}

// Forbids fields that the schema does not describe: clients do not send them, and the service does not write
// them.
function described(schema: unknown, isMember = true): unknown {
  if (Array.isArray(schema)) return schema.map((each) => described(each, false))
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([key, value]) => {
    if (['anyOf', 'oneOf', 'allOf'].includes(key)) return [key, described(value)]
    if (key === 'properties')
      return [
        key,
        Object.fromEntries(Object.entries(value as Schema).map(([name, each]) => [name, described(each)])),
      ]
    return [key, ['items', 'additionalProperties'].includes(key) ? described(value) : value]
  })
  const own = Object.fromEntries(entries)
  return isMember ? { allOf: [own], unevaluatedProperties: false } : own
}

// Allows any other fields, because clients ignore them.
function opened(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(opened)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).filter(
    ([key, value]) => key !== 'additionalProperties' || value !== false,
  )
  return Object.fromEntries(entries.map(([key, value]) => [key, opened(value)]))
}

interface Verdict {
  /** `maybe`: the edit only breaks clients that send undescribed fields, or read more than is described. */
  readonly request: 'yes' | 'maybe' | 'no'
  readonly response: 'yes' | 'maybe' | 'no'
}

function truthOf({ before, after, namedBefore, namedAfter }: Pair): Verdict {
  const [old, now] = [plain(documentOf(before, namedBefore)), plain(documentOf(after, namedAfter))]
  const [wasValid, isValid, isIgnored] = [judgeOf(old), judgeOf(now), judgeOf(opened(old))]
  const [wasSent, isWritten] = [judgeOf(described(old)), judgeOf(described(now))]
  const views = [old, now, described(old), described(now), opened(old)]
  const values = valuesFor(views, (schema, value) => judgeOf(schema)(value))
  const refused = values.filter((value) => wasValid(value) && !isValid(value))
  const possible = values.filter((value) => isValid(value) && !wasValid(value))
  const verdict = (all: readonly unknown[], isSure: Judge) =>
    all.some(isSure) ? 'yes' : all.length > 0 ? 'maybe' : 'no'
  return {
    request: verdict(refused, wasSent),
    response: verdict(possible, (value) => isWritten(value) && !isIgnored(value)),
  }
}

function toldOf({ before, after, namedBefore, namedAfter }: Pair): Record<keyof Verdict, string[]> {
  const changes = diffContracts(documentOf(before, namedBefore), documentOf(after, namedAfter))
  const breaking = changes.filter(({ bump }) => bump === 'major')
  const at = (place: string) => breaking.filter(({ where }) => where.startsWith(place)).map(lineOf)
  return { request: at('body'), response: at('200') }
}

// A field that is no longer sent breaks its readers, although no value shows that.
const unseen = /: removed$/

t.test('what is called breaking is what breaks', async (t) => {
  const counts = { yes: 0, maybe: 0, no: 0 }
  for (let i = 0; i < pairs; i++) {
    const random = new Random(seed * 1_000_003 + i)
    const pair = randomPair(random)
    const [truth, told] = [truthOf(pair), toldOf(pair)]
    for (const place of ['request', 'response'] as const) {
      const [breaks, lines] = [truth[place], told[place]]
      counts[breaks]++
      const isUnseen = place === 'response' && lines.some((line) => unseen.test(line))
      const shown = () => JSON.stringify({ i, place, lines, ...pair })
      if (breaks === 'yes' && lines.length === 0) t.fail(`missed: ${shown()}`)
      if (breaks === 'no' && lines.length > 0 && !isUnseen) t.fail(`false alarm: ${shown()}`)
    }
  }
  t.ok(Math.min(counts.yes, counts.no) > pairs / 3, `tried enough: ${JSON.stringify(counts)}`)
})
