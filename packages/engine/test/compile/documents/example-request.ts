import { contractOf } from 'contract-testing/engine'
import t from 'tap'
import { exampleRequest } from '../../../src/compile/documents/example-request.js'
import { Reader } from '../../../src/document/reader.js'

const big = 2n ** 53n + 1n
const int64 = { type: 'integer', format: 'int64' }

t.test('integers beyond 2^53 are as the contract has them, in parameters and bodies', async (t) => {
  const id = { name: 'id', in: 'path', required: true, schema: int64, example: big }
  const schema = {
    type: 'object',
    required: ['a', 'b'],
    properties: { a: { ...int64, example: -big }, b: { enum: [big] } },
  }
  const requestBody = { required: true, content: { 'application/json': { schema } } }
  const responses = { 204: { description: 'Done.' } }
  const contract = await contractOf({
    paths: { '/pets/{id}': { put: { operationId: 'putPet', parameters: [id], requestBody, responses } } },
  })
  const operation = contract.operations.get('putPet')
  const made = operation && exampleRequest(operation, contract, new Reader(contract.specification))
  t.match(made, { target: `/pets/${big}`, body: `{\n  "a": -${big},\n  "b": ${big}\n}` })
})
