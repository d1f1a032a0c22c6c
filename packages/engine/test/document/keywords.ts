// The table of keywords that assert must agree with Ajv, which judges by them.

import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { annotations, asserts, exactNumbers, saysOnly } from '../../src/document/keywords.js'

// Rules of Ajv that name schemas, belong to other drafts, or assert nothing.
const others = [
  '$dynamicAnchor',
  '$recursiveAnchor',
  '$recursiveRef',
  '$comment',
  'id',
  'nullable',
  'dependencies',
]
const types = { number: 'integer', string: 'string', array: 'array', object: 'object' } as const

t.test('a keyword asserts if Ajv has a rule for it, of values of the same type', async (t) => {
  const { rules, all } = new Ajv2020().RULES
  for (const group of rules)
    for (const { keyword } of group.rules) {
      if (others.includes(keyword)) continue
      t.ok(asserts(keyword), keyword)
      for (const [type, own] of Object.entries(types)) {
        const isOfAny = group.type === undefined || keyword === 'format'
        t.equal(asserts(keyword, own), isOfAny || group.type === type, `${keyword} of ${type}`)
      }
    }
  for (const name of [
    ...annotations,
    'default',
    'readOnly',
    '$defs',
    'contentMediaType',
    'x-a',
    'constructor',
  ])
    t.notOk(asserts(name) || (Object.hasOwn(all, name) && !others.includes(name)), name)
})

t.test('a schema says only what is named, beside annotations and extensions', async (t) => {
  t.ok(saysOnly({ type: 'string', title: 'A', xml: {}, 'x-a': 1 }, ['type']))
  for (const more of [{ default: 1 }, { pattern: 'a' }, { [exactNumbers]: '{}' }, { unknown: 1 }])
    t.notOk(saysOnly({ type: 'string', ...more }, ['type']), JSON.stringify(more))
})
