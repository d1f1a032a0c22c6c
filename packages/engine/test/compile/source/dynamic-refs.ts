import t from 'tap'
import { readContract } from '../../../src/compile/read.js'
import { withoutDynamicRefs } from '../../../src/compile/source/dynamic-refs.js'
import { doublings } from '../../../src/generate/doublings.js'

const of = (schemas: object) => ({ components: { schemas } })
const ref = ($ref: string) => ({ $ref })
const dynamic = ($dynamicRef: string) => ({ $dynamicRef })

const replaced: [title: string, given: object, expected: object][] = [
  [
    'to an anchor',
    of({ A: { $dynamicAnchor: 'n', properties: { a: dynamic('#n') } } }),
    of({ A: { properties: { a: ref('#/components/schemas/A') } } }),
  ],
  [
    'to an anchor within a schema whose name is to be escaped',
    of({ 'A%/': { items: { $dynamicAnchor: 'n' } }, B: dynamic('#n') }),
    of({ 'A%/': { items: {} }, B: ref('#/components/schemas/A%25~1/items') }),
  ],
  [
    'to the first of several anchors',
    of({ A: { $dynamicAnchor: 'n' }, B: { $dynamicAnchor: 'n' }, C: dynamic('#n') }),
    of({ A: {}, B: {}, C: ref('#/components/schemas/A') }),
  ],
  [
    'by a pointer',
    of({ A: {}, B: dynamic('#/components/schemas/A') }),
    of({ A: {}, B: ref('#/components/schemas/A') }),
  ],
  [
    'beside a $ref',
    of({ A: { $dynamicAnchor: 'n' }, B: { ...ref('#/x'), ...dynamic('#n'), allOf: [{}] } }),
    of({ A: {}, B: { ...ref('#/x'), allOf: [{}, ref('#/components/schemas/A')] } }),
  ],
  ['without a target', of({ A: dynamic('#n') }), of({ A: {} })],
  [
    'in data, and as the name of a property',
    of({
      A: { $dynamicAnchor: 'n', default: dynamic('#n'), properties: { $dynamicRef: { type: 'string' } } },
      B: dynamic('#none'),
    }),
    of({
      A: { default: dynamic('#n'), properties: { $dynamicRef: { type: 'string' } } },
      B: {},
    }),
  ],
]

for (const [title, given, expected] of replaced) {
  t.test(`a $dynamicRef ${title}`, async (t) => t.strictSame(withoutDynamicRefs(given), expected))
}

const n = ref('#/components/schemas/N')
const doubled: [title: string, schemas: object][] = [
  [
    'beside an allOf',
    {
      N: { $dynamicAnchor: 'n', properties: { c: dynamic('#n') }, allOf: [ref('#/components/schemas/M')] },
      M: { properties: { c: n } },
    },
  ],
  ['in items and contains', { N: { $dynamicAnchor: 'n', items: dynamic('#n'), contains: n } }],
  [
    'by a pointer',
    {
      N: {
        allOf: [{ additionalProperties: dynamic('#/components/schemas/N') }],
        patternProperties: { a: n },
      },
    },
  ],
  [
    'twice, with an anchor elsewhere',
    {
      N: { allOf: [{ properties: { a: dynamic('#m') } }, { properties: { a: dynamic('#m') } }] },
      M: { $dynamicAnchor: 'm', ...n, description: 'It.' },
    },
  ],
]

for (const [title, schemas] of doubled) {
  t.test(`a schema that a $dynamicRef applies twice is found: ${title}`, async (t) => {
    const { specification } = await contractOf(schemas)
    t.match(doublings(specification), [{ text: /applies itself to/ }])
  })
}

t.test('a schema that refers back to itself by a $dynamicRef is refused', async (t) => {
  const schemas = { N: { $dynamicAnchor: 'n', allOf: [dynamic('#n')] } }
  await t.rejects(contractOf(schemas), { message: /refers back to itself/ })
})

function contractOf(schemas: object) {
  const schema = { type: 'array', items: n }
  const operation = {
    operationId: 'a',
    requestBody: { content: { 'application/json': { schema } } },
    responses: { 204: { description: 'Done.' } },
  }
  const document = {
    openapi: '3.1.0',
    info: { title: 'T', version: '1.0.0' },
    paths: { '/a': { post: operation } },
  }
  return readContract('openapi.json', async () => JSON.stringify({ ...document, ...of(schemas) }))
}
