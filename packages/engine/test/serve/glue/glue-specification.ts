import { Validator } from '@seriousme/openapi-schema-validator'
import { contractWith, done } from 'contract-testing/engine'
import t from 'tap'
import { glueSpecification } from '../../../src/serve/glue/glue-specification.js'

const parameters = [{ name: 'toy-id', in: 'path', required: true, schema: { type: 'integer' } }]

t.test('glue is given a valid document with the paths and the ids of the contract', async (t) => {
  const contract = await contractWith({
    ping: { method: 'get', responses: done },
    getToy: { method: 'get', path: '/toys/{toy-id}/%C3%A9', parameters, responses: done },
    putToy: { method: 'put', path: '/toys/{toy-id}/%C3%A9', parameters, responses: done },
  })
  const { 'x-is-valid': _, ...specification } = glueSpecification(contract, contract.operations.values()) as {
    readonly 'x-is-valid': true
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>
  }
  t.strictSame(await new Validator().validate(structuredClone(specification)), { valid: true })
  const ids = Object.entries(specification.paths).map(([path, methods]) => {
    return [path, Object.entries(methods).map(([method, { operationId }]) => `${method} ${operationId}`)]
  })
  t.strictSame(ids, [
    ['/ping', ['get ping']],
    ['/toys/{toy_2d_id}/é', ['get getToy', 'put putToy']],
  ])
})

t.test('a document that the engine has not made is validated in tests, too', async (t) => {
  t.equal((await new Validator().validate({ openapi: '3.1.0' })).valid, false)
})
