// A mock tries once to make a response, and keeps the result: the response, or the reason why there is none.

import { contractOf } from 'contract-testing/engine'
import t from 'tap'
import { createMaker, makingParts } from '../../src/mock/made-response.js'
import { createResponseChecks } from '../../src/serve/response/response-validation.js'

t.test('what no value was found for is refused again, and not tried again', async (t) => {
  const content = { 'application/json': { schema: { type: 'object', required: ['a'], maxProperties: 0 } } }
  const responses = { 200: { description: 'It.', content } }
  const contract = await contractOf({ paths: { '/it': { get: { operationId: 'it', responses } } } })
  const operation = contract.operations.get('it')
  if (operation === undefined) throw new Error('no operation')
  const parts = makingParts(contract)
  const own = createResponseChecks(parts.functions)(operation, true)
  let judged = 0
  const check = {
    ...own,
    fault: (...args: Parameters<typeof own.fault>) => {
      judged++
      return own.fault(...args)
    },
  }
  const make = createMaker(operation, parts)
  const refusal = { code: 'not_implemented', message: /^No value was found for it 200 application\/json: / }
  const wish = { code: undefined, example: undefined, accept: undefined }
  t.throws(() => make(wish, check), refusal)
  const once = judged
  t.ok(once > 0, 'values were tried')
  for (const code of [undefined, 200]) t.throws(() => make({ ...wish, code }, check), refusal)
  t.equal(judged, once)
})
