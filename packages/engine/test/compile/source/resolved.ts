// The object in place of a `$ref`: which fields beside the `$ref` count, and which references remain.

import t from 'tap'
import { toContract } from '../../../src/compile/read.js'
import { resolved } from '../../../src/compile/source/resolved.js'

const ref = (name: string) => ({ $ref: `#/components/${name}` })
const own = { summary: 'S.', description: 'D.', 'x-a': 1, required: true }

const components = {
  responses: { A: { description: 'A.' } },
  parameters: { A: { name: 'a', in: 'query', description: 'A.', schema: { type: 'string' } } },
  examples: { A: { summary: 'A.', value: ref('responses/A') } },
  requestBodies: { A: { description: 'A.', content: {} } },
  headers: { A: { schema: { type: 'string' } } },
  securitySchemes: { A: { type: 'http', scheme: 'bearer' }, B: { ...ref('securitySchemes/A'), ...own } },
  links: { A: { operationId: 'a' } },
  callbacks: { A: { '{$url}': ref('pathItems/A') } },
  pathItems: { A: { summary: 'A.', post: { responses: { 204: ref('responses/A') } } } },
  mediaTypes: { A: { example: 1 } },
}

function resolvedIn(document: object, openapi = '3.2.0') {
  return resolved({ openapi, components, ...document }) as Record<string, Record<string, unknown>>
}

// For each kind of reference, the fields beside it that count.
const counting: readonly (readonly [name: string, put: (ref: object) => object, counts: object])[] = [
  ['responses', (each) => ({ responses: { 200: each } }), { summary: 'S.', description: 'D.' }],
  ['parameters', (each) => ({ parameters: [each] }), { description: 'D.' }],
  ['requestBodies', (each) => ({ requestBody: each }), { description: 'D.' }],
  ['headers', (each) => ({ headers: { A: each } }), { description: 'D.' }],
  ['links', (each) => ({ links: { A: each } }), { description: 'D.' }],
  ['mediaTypes', (each) => ({ content: { 'text/plain': each } }), {}],
]

t.test(
  'of the fields beside a $ref, those that its object has for people replace the target’s',
  async (t) => {
    for (const [kind, put, counts] of counting) {
      const map = components[kind as 'responses']
      const document = (openapi: string) =>
        resolvedIn({ paths: { '/a': { get: put({ ...ref(`${kind}/A`), ...own }) } } }, openapi)
      const expected = (more: object) => ({ get: put({ ...map.A, ...more }) })
      t.strictSame(document('3.1.0').paths?.['/a'], expected(counts), kind)
      t.strictSame(document('3.0.3').paths?.['/a'], expected({}), `${kind}, in 3.0`)
    }
    const { securitySchemes } = resolvedIn({}).components as { securitySchemes: Record<string, unknown> }
    t.strictSame(securitySchemes.B, { ...components.securitySchemes.A, description: 'D.' })
  },
)

t.test('of an example, its value is left as it is', async (t) => {
  const examples = { one: { ...ref('examples/A'), summary: 'S.' } }
  const { paths } = resolvedIn({ paths: { '/a': { parameters: [{ examples }] } } })
  t.strictSame(paths?.['/a'], {
    parameters: [{ examples: { one: { summary: 'S.', value: ref('responses/A') } } }],
  })
})

t.test('a path item has all that stands beside its $ref, in a callback, too', async (t) => {
  const item = { ...ref('pathItems/A'), summary: 'S.', get: {} }
  const post = { responses: { 204: components.responses.A } }
  for (const openapi of ['3.0.3', '3.1.0']) {
    const { paths } = resolvedIn(
      { paths: { '/a': item, '/b': { post: { callbacks: { c: { '{$url}': item } } } } } },
      openapi,
    )
    t.strictSame(paths?.['/a'], { summary: 'S.', post, get: {} })
    t.strictSame(paths?.['/b'], {
      post: { callbacks: { c: { '{$url}': { summary: 'S.', post, get: {} } } } },
    })
  }
})

t.test('what several places refer to is one object', async (t) => {
  const { paths } = resolvedIn({ paths: { '/a': ref('pathItems/A'), '/b': ref('pathItems/A') } })
  t.equal(paths?.['/a'], paths?.['/b'])
})

t.test('a chain has any length, and the outermost text', async (t) => {
  const length = 20_000
  const chain = Array.from({ length }, (_, i) => [
    `R${i}`,
    { ...ref(`responses/R${i + 1}`), description: String(i) },
  ])
  const responses = { ...Object.fromEntries(chain), [`R${length}`]: { description: 'End.', content: {} } }
  const { paths } = resolvedIn({
    components: { responses },
    paths: { '/a': { get: { responses: { 200: ref('responses/R0') } } } },
  })
  t.strictSame(paths?.['/a'], { get: { responses: { 200: { description: '0', content: {} } } } })
})

t.test('what refers back to itself, or to nothing, is left', async (t) => {
  const responses = { A: ref('responses/B'), B: ref('responses/A'), C: ref('responses/D') }
  const { components: left } = resolvedIn({ components: { responses } })
  t.strictSame(left?.responses, responses)
})

t.test('a callback within a callback is left: their number may double each time', async (t) => {
  const callbacks = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => {
      const inner = { a: ref(`callbacks/C${i + 1}`), b: ref(`callbacks/C${i + 1}`) }
      return [`C${i}`, { '{$url}': { post: { callbacks: inner, responses: { 204: ref('responses/A') } } } }]
    }),
  )
  const operation = {
    operationId: 'a',
    callbacks: { c: ref('callbacks/C0') },
    responses: { 204: { description: 'A.' } },
  }
  const document = {
    openapi: '3.1.0',
    info: { title: 'T', version: '1.0.0' },
    paths: { '/a': { post: operation } },
    components: { ...components, callbacks: { ...callbacks, C100: {} } },
  }
  const { contract, problems } = toContract({ document, text: '' })
  t.strictSame(problems, [])
  const post = {
    callbacks: { a: ref('callbacks/C1'), b: ref('callbacks/C1') },
    responses: { 204: { description: 'A.' } },
  }
  t.strictSame(contract.operations.get('a')?.definition.callbacks, { c: { '{$url}': { post } } })
})

t.test(
  'a field both beside the $ref of a path item and in its target is refused with its place',
  async (t) => {
    const document = {
      openapi: '3.1.0',
      info: { title: 'T', version: '1.0.0' },
      paths: { '/a': { ...ref('pathItems/A'), summary: 'S.' } },
      components,
    }
    const { problems } = toContract({ document, text: '' })
    const text = '/a: summary is defined beside the $ref and in its target: keep one'
    t.strictSame(problems.find((each) => each.text === text)?.at, ['paths', '/a'])
  },
)
