import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { contractWith, done, startEngine } from '../../../src/testing/engine.js'

t.test('glue routes a contract without compiling the schema of OpenAPI', async (t) => {
  // Not in the types.
  const validator = Validator.prototype as unknown as { getAjvValidator(version: string): unknown }
  const { getAjvValidator } = validator
  t.teardown(() => Object.assign(validator, { getAjvValidator }))
  validator.getAjvValidator = (version) => t.fail(`the schema of OpenAPI ${version} is compiled`)
  const contract = await contractWith({ ping: { method: 'get', responses: done } })
  const engine = await startEngine(t, contract, { ping: async () => ({ status: 204 }) })
  t.equal((await engine.call('GET', '/ping')).status, 204)
})

t.test('any other document is validated as before', async (t) => {
  t.equal((await new Validator().validate({ openapi: '3.1.0' })).valid, false)
})
