import t from 'tap'
import { createRequestIdCheck } from '../../../src/index.js'
import { contractOf } from '../../../src/testing/engine.js'

t.test("a client's id may be what the contract allows, in ASCII", async (t) => {
  const isValid = createRequestIdCheck({
    ...(await contractOf({ paths: {} })),
    requestId: { type: 'string', maxLength: 3 },
  })
  t.strictSame(['a b', 'abcd', 'é', 'a\t'].map(isValid), [true, false, false, false])
})
