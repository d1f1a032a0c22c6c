// A value that would take too many steps is refused, at the same step on every machine; values that the
// contract intends are not.

import { errorHandler, mount } from 'contract-engine'
import { readContract } from 'contract-engine/compile'
import { contractWith } from 'contract-testing/engine'
import Fastify from 'fastify'
import t from 'tap'
import { createJudge } from '../../src/compile/code/compilers.js'
import type { Operation, Schema } from '../../src/document/contract.js'
import { createResponseChecks } from '../../src/serve/response/response-validation.js'

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const twice = (name: string) => ({ properties: { of: ref(name) } })
// This is judged last, and refuses the value.
const ofText = { patternProperties: { '^of': { type: 'string' } } }
const shape = (name: string, inner: object) => ({
  type: 'object',
  required: [name],
  properties: { [name]: { type: 'integer' }, of: inner },
})
const schemas = {
  All: { type: 'object', allOf: [twice('All'), twice('All')] },
  Any: {
    type: 'object',
    anyOf: [twice('Any'), twice('Any')],
    properties: {
      ids: { type: 'array', items: { type: 'integer', format: 'int64' } },
      text: { pattern: '^a*$' },
    },
  },
  One: { oneOf: [twice('One'), { ...twice('One'), ...ofText }] },
  If: Object.fromEntries([
    ['if', { ...twice('If'), required: ['of'] }],
    ['then', { ...twice('If'), patternProperties: { '^o': { type: 'object' } } }],
  ]),
  Not: { not: { ...twice('Not'), ...ofText }, ...twice('Not') },
  Dependent: { dependentSchemas: { of: twice('Dependent') }, ...twice('Dependent') },
  Asked: { allOf: [twice('Asked')], anyOf: [twice('Asked')], unevaluatedProperties: false },
  Shape: { anyOf: ['a', 'b', 'c'].map((name) => shape(name, ref('Style'))) },
  Style: { anyOf: ['a', 'b', 'c'].map((name) => shape(name, ref('Colour'))) },
  Colour: { anyOf: ['a', 'b', 'c'].map((name) => shape(name, { type: 'array', items: ref('Line') })) },
  Line: { oneOf: [{ type: 'integer', format: 'int64' }, { type: 'number', maximum: 0 }, { type: 'string' }] },
  Tree: {
    type: 'object',
    uniqueItems: true,
    properties: { all: { type: 'array', uniqueItems: true, items: ref('Tree') } },
  },
}

const judge = createJudge({ components: { schemas } })
const nested = (depth: number, leaf: object = {}) =>
  Array.from({ length: depth }).reduce<object>((of) => ({ of }), leaf)
const ones = (length: number) => Array.from({ length }, () => 1)

for (const name of ['All', 'Any', 'One', 'If', 'Not', 'Dependent', 'Asked']) {
  t.test(`a schema that doubles is judged in a bounded number of steps: ${name}`, async (t) => {
    const validate = judge('body', ref(name))
    const before = process.cpuUsage()
    t.notOk(validate(nested(60)))
    t.match(validate.errors, [{ keyword: 'steps', message: 'takes too many steps to check' }])
    t.match(validate.explain(nested(60)), [{ keyword: 'steps' }])
    t.ok(process.cpuUsage(before).user < 2_000_000, 'far from for ever')
    validate(nested(4))
    t.not(validate.errors?.[0]?.keyword, 'steps', 'a small value is judged')
  })
}

const fat: [title: string, leaf: object][] = [
  ['many numbers to convert', { ids: ones(30_000) }],
  ['a long text', { text: 'a'.repeat(60_000) }],
]

for (const [title, leaf] of fat) {
  t.test(`what a doubled value has within is counted: ${title}`, async (t) => {
    const validate = judge('body', ref('Any'))
    const before = process.cpuUsage()
    t.notOk(validate(nested(40, leaf)))
    t.match(validate.errors, [{ keyword: 'steps' }])
    t.ok(process.cpuUsage(before).user < 4_000_000)
    t.ok(validate(nested(2, leaf)))
  })
}

const meant: [title: string, schema: Schema, value: unknown][] = [
  ['200,000 numbers to convert', { items: { type: 'integer', format: 'int64' } }, ones(200_000)],
  ['200,000 numbers of overlapping alternatives', { items: ref('Line') }, ones(200_000)],
  [
    '5,000 values of alternatives of alternatives of alternatives',
    { items: ref('Shape') },
    ones(5_000).map(() => ({ c: 1, of: { c: 1, of: { c: 1, of: [1, 'x', -1.5] } } })),
  ],
  ['a text of 20 MB', { type: 'string', pattern: '^a*$', minLength: 1 }, 'a'.repeat(2e7)],
  ['100,000 names', { propertyNames: { pattern: '^a' }, minProperties: 1 }, named(100_000)],
  [
    'one list a thousand times, as in a response',
    { items: { items: { type: 'integer' } } },
    ones(1_000).fill(ones(1_000) as never),
  ],
  ['lists of unique items in each other, 90 deep', ref('Tree'), tree(90, 2_000)],
]

for (const [title, schema, value] of meant) {
  t.test(`a value is judged however large it is: ${title}`, async (t) => {
    const validate = judge('body', schema)
    t.ok(validate(value), JSON.stringify(validate.errors))
  })
}

function named(count: number): object {
  return Object.fromEntries(ones(count).map((_, i) => [`a${i}`, i]))
}

function tree(depth: number, leaves: number): object {
  const leaf = { all: ones(leaves).map((_, i) => ({ i })) }
  return ones(depth).reduce<object>((all) => ({ all: [all, {}] }), leaf)
}

t.test('the count begins anew with each value', async (t) => {
  const validate = judge('body', { items: { type: 'integer' } })
  for (let i = 0; i < 5; i++) t.ok(validate(ones(60_000)))
  t.notOk(judge('body', ref('All'))(nested(60)))
  t.ok(validate(ones(60_000)))
})

t.test('a pattern of the contract that overflows the stack refuses the text', async (t) => {
  const validate = judge('body', { type: 'string', pattern: '^(?:a|b)*$' })
  t.ok(validate('ab'))
  t.notOk(validate('ab'.repeat(2e7)))
  t.match(validate.errors, [{ keyword: 'steps' }])
})

t.test('a response that would take too many steps is one that the contract does not declare', async (t) => {
  const content = { 'application/json': { schema: ref('All') } }
  const contract = await contractWith(
    { a: { responses: { 200: { description: 'It.', content } } } },
    { schemas },
  )
  const check = createResponseChecks(contract.functions())(contract.operations.get('a') as Operation, true)
  const problem = 'body at "" takes too many steps to check'
  t.match(check.fault(200, nested(60)), { problem })
  const circular: { of?: object } = {}
  circular.of = circular
  t.match(check.fault(200, circular), { problem })
})

t.test('a request that would take too many steps is refused with a code of its own', async (t) => {
  const app = Fastify()
  const json = (schema: object) => ({ 'application/json': { schema } })
  const done = { responses: { 204: { description: 'Done.' } } }
  const document = {
    ...{ openapi: '3.1.0', info: { title: 'T', version: '1.0.0' }, components: { schemas } },
    paths: {
      '/body': { post: { operationId: 'body', requestBody: { content: json(ref('All')) }, ...done } },
      '/query': {
        get: {
          operationId: 'query',
          parameters: [
            { name: 'q', in: 'query', content: json(ref('All')) },
            { name: 'n', in: 'query', schema: { type: 'integer' } },
          ],
          ...done,
        },
      },
    },
  }
  const contract = await readContract('openapi.json', async () => JSON.stringify(document))
  app.setErrorHandler(errorHandler(contract))
  const done204 = async () => ({ status: 204 })
  await mount(app, { contract, handlers: { body: done204, query: done204 } })
  const refused = {
    code: 'request_too_complex',
    message: 'The request would take too many steps to check.',
    status: 413,
  }
  const body = JSON.stringify(nested(60))
  const headers = { 'content-type': 'application/json' }
  const posted = await app.inject({ method: 'POST', url: '/body', headers, payload: body })
  t.strictSame([posted.statusCode, posted.json()], [413, refused])
  for (const also of ['', '&n=x']) {
    const asked = await app.inject({ url: `/query?q=${encodeURIComponent(body)}${also}` })
    t.strictSame([asked.statusCode, asked.json()], [413, refused])
  }
  const small = await app.inject({ method: 'POST', url: '/body', headers, payload: '{"of":{}}' })
  t.equal(small.statusCode, 204)
  await app.close()
})
