// A request of each operation, made of the contract's examples, gets a response that the contract allows, or
// 501 while its handler is a stub. A handler that returns anything else fails with 500.

import { startService } from 'contract-service/testing'
import t from 'tap'

const service = await startService(t)

for (const operation of service.contract.operations.values())
  t.test(`${operation.method} ${operation.path}`, async (t) => {
    const response = await service.send(operation)
    const isExpected = response.status < 500 || response.status === 501
    t.ok(isExpected, `responds with ${response.status}`, { body: isExpected ? '' : await response.text() })
    await response.body?.cancel() // which may be a stream without an end
  })
