import t from 'tap'
import { doublings } from '../../src/generate/doublings.js'

const self = { $ref: '#/components/schemas/A' }
const list = { type: 'array', items: self }
const a = { properties: { a: self } }
const ofPattern = { patternProperties: { '^a': self } }
const others = { additionalProperties: self }
const tagged = (k: string) => ({ type: 'object', required: ['k'], properties: { k: { const: k }, a: self } })
const closed = (name: string, schema: object) => ({
  type: 'object',
  required: [name],
  properties: { [name]: schema },
  additionalProperties: false,
})

// Built from entries, because Biome takes an object literal with `then` for a promise.
const conditional = (condition: object, then: object, other: object | boolean = true) =>
  Object.fromEntries([
    ['if', condition],
    ['then', then],
    ['else', other],
  ])

function found(schema: object, others: object = {}) {
  const schemas = { A: schema, ...others }
  const uses = Object.keys(schemas).map((name) => ({ $ref: `#/components/schemas/${name}` }))
  return doublings({ uses, components: { schemas } }).map(({ at, text }) => [
    at.slice(2).join('/'),
    / to (.*) twice/.exec(text)?.[1],
  ])
}

const linear: [title: string, schema: object, others?: object][] = [
  ['a list of itself', list],
  [
    'a default that looks like a reference to itself',
    { default: { $ref: '#/components/schemas/A/default' } },
  ],
  ['two properties', { properties: { a: self, b: self } }],
  ['items and properties', { items: self, additionalProperties: self }],
  ['a property and all others', { properties: { a: self }, additionalProperties: self }],
  [
    'properties of two patterns that no name has both of',
    { properties: { b: self }, patternProperties: { '^a': self } },
  ],
  ['items of different places', { prefixItems: [self, self], items: self }],
  ['parts of an allOf with different properties', { allOf: [a, { properties: { b: self } }] }],
  ['then and else', conditional({ required: ['b'] }, a, a)],
  ['alternatives with a const each', { oneOf: [tagged('x'), tagged('y')] }],
  [
    'alternatives with a const each, by $ref',
    { anyOf: [{ $ref: '#/components/schemas/B' }, { $ref: '#/components/schemas/C' }] },
    { B: tagged('x'), C: { allOf: [tagged('y')] } },
  ],
  [
    'alternatives with a discriminator',
    { oneOf: [a, a], discriminator: { propertyName: 'k', branches: [{ mapped: ['x'] }, { mapped: ['y'] }] } },
  ],
  [
    'a discriminator that maps to nothing',
    {
      oneOf: [a, a],
      discriminator: {
        propertyName: 'k',
        mapping: { z: 'Z' },
        branches: [{ mapped: ['x'] }, { mapped: ['y'] }],
      },
    },
  ],
  [
    'alternatives with different properties',
    { oneOf: [closed('and', list), closed('not', self), closed('is', { type: 'string' })] },
  ],
  [
    'alternatives of different types',
    { anyOf: [list, { type: 'object', additionalProperties: self }, { type: 'string' }] },
  ],
  [
    'alternatives of which one is recursive',
    {
      oneOf: [
        { type: 'object', properties: { a: { type: 'string' } } },
        { type: 'object', ...a },
      ],
    },
  ],
  ['twice, but not again within', { ...a }, { B: { allOf: [a, a] } }],
]

const doubling: [title: string, schema: object, member: string][] = [
  ['allOf', { allOf: [a, a] }, 'its a'],
  ['allOf and beside it', { allOf: [a], ...a }, 'its a'],
  ['if and then', conditional({ ...a, required: ['a'] }, a), 'its a'],
  ['not', { not: { ...a, required: ['b'] }, ...a }, 'its a'],
  ['dependentSchemas', { dependentSchemas: { a: a, b: a } }, 'its a'],
  ['parts with a pattern and others', { allOf: [ofPattern, others] }, 'its other members'],
  ['contains and items', { ...list, contains: self }, 'its items'],
  [
    'a step further',
    { allOf: [{ properties: { b: a } }, { properties: { b: list, c: {} } }, { properties: { b: a } }] },
    'its b',
  ],
  ['anyOf', { anyOf: [a, { ...a, required: ['b'] }] }, 'its a'],
  ['oneOf with overlapping values', { oneOf: [tagged('x'), tagged('x')] }, 'its a'],
  ['anyOf of arrays', { anyOf: [list, { ...list, maxItems: 1 }] }, 'its items'],
  ['alternatives beside a property', { ...a, oneOf: [tagged('x'), tagged('y')] }, 'its a'],
]

for (const [title, schema, others] of linear) {
  t.test(`${title}: each part once`, async (t) => t.strictSame(found(schema, others), []))
}

for (const [title, schema, member] of doubling) {
  t.test(`${title}: doubles`, async (t) => t.strictSame(found(schema), [['A', member]]))
}

t.test('alternatives within a property are named at their place', async (t) => {
  const schema = {
    properties: { b: { anyOf: [{ type: 'string' }, self, { $ref: '#/components/schemas/B' }] } },
  }
  t.strictSame(found(schema, { B: schema }), [
    ['A/properties/b', 'its b'],
    ['B/properties/b', 'its b'],
  ])
})

t.test('a circle of schemas is named where it doubles', async (t) => {
  const b = { properties: { b: { $ref: '#/components/schemas/B' } } }
  t.strictSame(found({ allOf: [b, b] }, { B: { properties: { a: self } } }), [['A', 'its b']])
})
