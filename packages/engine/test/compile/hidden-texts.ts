import { contractWith, done } from 'contract-testing/engine'
import t from 'tap'
import { hiddenTexts } from '../../src/compile/contract/hidden-texts.js'

const after = { name: 'after', in: 'query', description: 'Behind which toy the page begins.' }
const id = { $ref: '#/components/schemas/Id' }
const schemas = {
  Id: { type: 'integer', description: 'The identifier of a toy.' },
  Plain: { type: 'integer' },
  Color: { type: 'string', enum: ['red'], description: 'The color of a toy.' },
}

const cases: [title: string, parameter: object, isHidden: boolean][] = [
  ['of a schema with another text', { ...after, schema: id }, true],
  ['with the text of its schema', { ...after, description: schemas.Id.description, schema: id }, false],
  ['without a text', { name: 'after', in: 'query', schema: id }, false],
  ['of a schema without a text', { ...after, schema: { $ref: '#/components/schemas/Plain' } }, false],
  ['of a named enum', { ...after, schema: { $ref: '#/components/schemas/Color' } }, false],
  ['with a schema of its own', { ...after, schema: { type: 'integer' } }, false],
]

for (const [title, parameter, isHidden] of cases) {
  t.test(`a parameter ${title} is ${isHidden ? 'warned of' : 'fine'}`, async (t) => {
    for (const at of [{ parameters: [parameter] }, { parameters: [{ $ref: '#/components/parameters/P' }] }]) {
      const contract = await contractWith(
        { list: { method: 'get', responses: { 204: done[204] }, ...at } },
        { components: { schemas, parameters: { P: parameter } } },
      )
      t.match(
        hiddenTexts(contract).map(({ text }) => text),
        isHidden
          ? [/^list: .* the description of #\/components\/schemas\/Id as that of the query parameter after: /]
          : [],
      )
      t.equal(hiddenTexts(contract).length, isHidden ? 1 : 0)
    }
  })
}
