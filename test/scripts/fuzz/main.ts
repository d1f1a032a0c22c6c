// .ci/run fuzzes the service.

import { runProgram } from 'contract-service/fixtures/process'
import { fixedPlans, readServiceContract } from 'contract-service/internal/auth/plans'
import { withoutQuotas } from 'contract-service/tools/fuzz/installation'
import t from 'tap'
import { stringify } from 'yaml'

t.test('without Schemathesis the way to install it is printed', async (t) => {
  const ended = await runProgram('packages/service/contract-service.js', ['fuzz'], { PATH: '' })
  t.match(ended, {
    code: 1,
    stdout: '',
    stderr: /^Schemathesis is not installed\. Install it with `pip install -r /,
  })
})

t.test('zero requests are rejected with the usage', async (t) => {
  const ended = await runProgram('packages/service/contract-service.js', ['fuzz', '--max-examples', '0'], {})
  t.match(ended, { code: 2, stdout: '', stderr: /^Usage: [\s\S]*\n--max-examples must be a whole number/ })
})

t.test('it runs without the quotas of the contract', async (t) => {
  const limits = {
    plans: { free: { perMinute: 1, perDay: 2 }, basic: { perMinute: 3, perDay: 4 } },
    anonymous: { perMinute: 1 },
    ban: { rejections: 1, withinSeconds: 60, banSeconds: 300 },
  }
  const document = { openapi: '3.1.0', info: { title: 'Toys', version: '1' }, paths: {} }
  const read = (text: string) => readServiceContract('openapi.yaml', async () => withoutQuotas(text))
  const contract = await read(stringify({ ...document, 'x-rate-limits': limits }))
  const { anonymous, ban } = contract.rateLimits
  t.equal(fixedPlans(contract).length, 2)
  for (const { perMinute, perDay } of fixedPlans(contract)) t.ok(Math.min(perMinute, perDay) >= 1e9)
  t.ok(Math.min(anonymous.perMinute, ban.rejections) >= 1e9)
  const custom = await read(
    stringify({ ...document, 'x-rate-limits': { ...limits, plans: { any: 'custom' } } }),
  )
  t.strictSame([...custom.rateLimits.plans], [['any', 'custom']])
  t.equal((await read(stringify(document))).hasRateLimits, false)
})
