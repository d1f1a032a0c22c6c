import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { handlers } from '../../generated/handlers.js'
import { readFuzzContract } from '../../scripts/fuzz/contract.js'
import { type FuzzResult, fuzz } from '../../scripts/fuzz/run.js'
import type { AppParts } from '../../src/app.js'
import { contractFile } from '../../src/paths.js'
import { runProgram } from '../fixtures/process.js'
import { type Service, startService } from '../fixtures/service.js'

const contract = readFuzzContract(contractFile)
const run = promisify(execFile)

function fuzzService({ origin, key }: Service, requests: number): Promise<FuzzResult> {
  return fuzz({ origin, keys: { open: key }, contract, requests, seed: 1 })
}

t.test('a thousand requests find nothing wrong with the service', async (t) => {
  const service = await startService(t, { env: { TRUST_PROXY: 'true' } })
  const { requests, failures, statuses } = await fuzzService(service, 1_000)
  t.ok(requests >= 1_000)
  t.strictSame(
    failures.map(({ problem, curl }) => `${problem}: ${curl}`),
    [],
  )
  for (const status of [200, 201, 400, 401, 404, 405, 413, 414, 415, 431]) {
    t.ok(statuses.has(status), `some of them get ${status}`)
  }
  t.equal(service.log.filter(({ level }) => Number(level) >= 50).length, 0, 'and none is a fault')
})

type Handlers = NonNullable<AppParts['handlers']>

// What the service's own check of its answers does not see, or answers with a 500.
const faults: [title: string, broken: Partial<Handlers>, problem: RegExp][] = [
  [
    'an undeclared status',
    { getPet: async () => ({ status: 202, body: { id: 1n, name: 'a', categoryId: 1n } }) as never },
    /^500 is a fault/,
  ],
  [
    'a body of another shape',
    { listPets: async () => ({ status: 200, body: [{ id: 'x' }] }) as never },
    /^500 is a fault/,
  ],
  [
    'an integer that is rounded',
    {
      createPet: async ({ body }) => ({
        status: 201,
        headers: { Location: '/v1/pets/1' },
        body: { ...body, id: 1n, categoryId: BigInt(Number(body.categoryId)) },
      }),
    },
    /^categoryId was sent as|more than 64 bits|^500 is a fault/,
  ],
  [
    'a word of internals',
    {
      getPet: async () => ({
        status: 200,
        body: { id: 1n, name: 'relation "pets" does not exist', categoryId: 1n },
      }),
    },
    /^a word of internals: "relation/,
  ],
]

for (const [title, broken, problem] of faults) {
  t.test(`${title} is found, shrunk, and shown again by its command`, async (t) => {
    const service = await startService(t, { handlers: { ...handlers, ...broken } })
    const { failures } = await fuzzService(service, 300)
    const found = failures.find((failure) => problem.test(failure.problem))
    t.ok(found, failures.map((failure) => failure.problem).join('; ') || 'nothing was found')
    t.strictSame(found?.request.twists, [], 'nothing odd is left in the request')
    const { stdout } = await run('sh', ['-c', `${found?.curl} -s`])
    t.match(stdout, /^HTTP\/1\.1 (?:500|20\d) /)
  })
}

t.test('wrong usage exits 2 and says what is right', async (t) => {
  for (const args of [
    ['--requests', 'many'],
    ['--url', 'http://127.0.0.1:1'],
    ['--nonsense'],
    ['--url', 'x', '--key', 'y'],
  ]) {
    t.match(
      await runProgram('scripts/fuzz.ts', args, {}),
      { code: 2, stderr: /Usage: npm run fuzz/ },
      args.join(' '),
    )
  }
})
