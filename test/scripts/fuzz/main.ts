import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { handlers } from '../../../generated/handlers.js'
import { readArguments } from '../../../scripts/fuzz/arguments.js'
import { readFuzzContract } from '../../../scripts/fuzz/contract.js'
import { type Request, toCurl } from '../../../scripts/fuzz/request.js'
import { type FuzzResult, fuzz } from '../../../scripts/fuzz/run.js'
import type { AppParts } from '../../../src/app.js'
import { contractFile } from '../../../src/lib/paths.js'
import { temporaryDirectory } from '../../fixtures/directory.js'
import { type Service, startService } from '../../fixtures/service.js'

const contract = await readFuzzContract(contractFile)
const run = promisify(execFile)

function fuzzService({ origin, key }: Service, requests: number): Promise<FuzzResult> {
  return fuzz({ origin, keys: { open: key }, contract, requests, seed: 1 })
}

t.test('hundreds of requests to each operation find no failure', async (t) => {
  const service = await startService(t, { env: { TRUST_PROXY: 'true' } })
  const many = 500 * contract.operations.length
  const { requests, failures, statuses } = await fuzzService(service, many)
  t.ok(requests >= many)
  t.strictSame(
    failures.map(({ problem, curl }) => `${problem}: ${curl}`),
    [],
  )
  for (const status of [200, 201, 400, 401, 404, 405, 413, 414, 415, 431]) {
    t.ok(statuses.has(status), `some of them get ${status}`)
  }
  t.equal(service.log.filter(({ level }) => Number(level) >= 50).length, 0, 'no error is logged')
})

type Handlers = NonNullable<AppParts['handlers']>

// Handlers with bugs. The service's own response validation turns some of them into a 500.
const faults: [title: string, broken: Partial<Handlers>, problem: RegExp][] = [
  [
    'an undeclared status',
    { getPet: async () => ({ status: 202, body: { id: 1n, name: 'a', categoryId: 1n } }) as never },
    /^500 is a server error/,
  ],
  [
    'a body that does not match the schema',
    { listPets: async () => ({ status: 200, body: [{ id: 'x' }] }) as never },
    /^500 is a server error/,
  ],
  [
    'a rounded integer',
    {
      createPet: async ({ body }) => ({
        status: 201,
        headers: { Location: '/v1/pets/1' },
        body: { ...body, id: 1n, categoryId: BigInt(Number(body.categoryId)) },
      }),
    },
    /^categoryId was sent as|more than 64 bits|^500 is a server error/,
  ],
  [
    'a leak of internals',
    {
      getPet: async () => ({
        status: 200,
        body: { id: 1n, name: 'relation "pets" does not exist', categoryId: 1n },
      }),
    },
    /^reveals internals: "relation/,
  ],
]

for (const [title, broken, problem] of faults) {
  t.test(`${title} is found, shrunk, and reproduced by its command`, async (t) => {
    const service = await startService(t, { handlers: { ...handlers, ...broken } })
    const { failures } = await fuzzService(service, 300)
    const found = failures.find((failure) => problem.test(failure.problem))
    t.ok(found, failures.map((failure) => failure.problem).join('; ') || 'no failure was found')
    t.strictSame(found?.request.mutations, [], 'the shrunk request has no mutations')
    const { stdout } = await run('sh', ['-c', `${found?.curl} -s`])
    t.match(stdout, /^HTTP\/1\.1 (?:500|20\d) /)
  })
}

t.test('a request that curl would correct is reproduced byte by byte', async (t) => {
  const plain: Request = {
    method: 'GET',
    target: '/v1/pets?limit=1',
    version: 'HTTP/1.1',
    headers: [['Host', 'localhost:3000']],
    payload: Buffer.alloc(0),
    body: undefined,
    operation: 'listPets',
    expected: 'accepted',
    hasKey: false,
    mutations: [],
    isRaw: false,
  }
  const command = (changes: Partial<Request>) => toCurl({ ...plain, ...changes }, 'http://localhost:3000')
  t.equal(
    command({}),
    "curl -i --globoff --path-as-is --http1.1 -X GET 'http://localhost:3000/v1/pets?limit=1'",
  )
  const rest =
    "HTTP/1.1\\r\\nHost: localhost:3000\\r\\n\\r\\n' | curl -s --max-time 5 telnet://localhost:3000"
  t.equal(command({ target: '/v1/pets\xe9' }), `printf 'GET /v1/pets\\351 ${rest}`, 'one byte, not UTF-8')
  t.equal(command({ target: '*' }), `printf 'GET * ${rest}`)
  t.match(command({ headers: [['Accept-Language', '\xe9']] }), /^printf 'GET .*\\351/)
  t.match(command({ isRaw: true }), /^printf 'GET /)
})

t.test('a recursive schema is refused', async (t) => {
  const schemas = `{ Tree: { properties: { child: { $ref: '#/components/schemas/Tree' } } } }`
  const folder = temporaryDirectory(t, { 'tree.yaml': `components: { schemas: ${schemas} }` })
  await t.rejects(readFuzzContract(path.join(folder, 'tree.yaml')), {
    message: '#/components/schemas/Tree/properties/child is recursive, which the fuzzer does not support.',
  })
})

t.test('wrong usage is rejected with the correct usage', async (t) => {
  const cases: [args: string[], message: RegExp][] = [
    [['--requests', 'many'], /^--requests must be a whole number/],
    [['--seed', '-1'], /--seed/],
    [['--url', 'http://127.0.0.1:1'], /^--url and --key require each other/],
    [['--key', 'y'], /^--url and --key require each other/],
    [['--url', 'x', '--key', 'y'], /^--url must be the address of a service/],
    [['--url', 'http://x/v1', '--key', 'y'], /^--url must be the address of a service/],
  ]
  for (const [args, message] of cases) t.throws(() => readArguments(args), { message }, args.join(' '))
  t.match(readArguments(['--url', 'http://x:1/', '--key', 'y']), {
    requests: 10_000,
    seed: 1,
    service: { origin: 'http://x:1', keys: { open: 'y' } },
  })
})
