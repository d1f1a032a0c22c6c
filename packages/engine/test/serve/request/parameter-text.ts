import { createRequestIdCheck } from 'contract-engine'
import { contractWith } from 'contract-testing/engine'
import t from 'tap'

t.test("a client's id may be what the contract allows, in ASCII", async (t) => {
  const headers = { 'X-Request-Id': { schema: { type: 'string', maxLength: 3 } } }
  const responses = { 204: { description: 'Done.', headers } }
  const isValid = createRequestIdCheck(await contractWith({ it: { responses } }))
  t.strictSame(['a b', 'abcd', 'é', 'a\t'].map(isValid), [true, false, false, false])
})
