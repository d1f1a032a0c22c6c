// What the service is made of is what openapi.yaml says.

import { checkGenerated, startService } from 'contract-service/testing'
import t from 'tap'

t.test('generated/ is of the contract as it is', async (t) => {
  t.equal(await checkGenerated(), '')
})

t.test('callers read the contract at /openapi.json', async (t) => {
  const { origin, contract } = await startService(t)
  const response = await fetch(`${origin}/openapi.json`)
  t.equal(response.status, 200)
  t.match(await response.json(), { info: { title: contract.title } })
})
