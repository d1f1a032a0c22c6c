// A contract loaded from its plan equals the contract read from its files. A plan of other files or of
// another engine is refused.

import { readdirSync } from 'node:fs'
import path from 'node:path'
import { type Contract, loadContract, notImplemented } from 'contract-engine'
import { compileContract, isCurrent } from 'contract-engine/compile'
import { decodePlan, defaultLimits, documentPaths, encodePlan, type PlanBody } from 'contract-engine/tools'
import { fixture } from 'contract-service/fixtures/root'
import {
  loadServiceContract,
  operationExtensions,
  readServiceContract,
  type ServiceContract,
  serviceExtensions,
} from 'contract-service/internal/auth/plans'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { buildServer } from 'contract-service/tools/lib/server'
import { loadingProved } from 'contract-testing/plans'
import t from 'tap'

const documents = path.join(projectRoot, 'test/fixtures/documents')
const files = [
  path.join(projectRoot, 'openapi.yaml'),
  ...readdirSync(documents)
    .filter((name) => /\.(yaml|json)$/.test(name))
    .map((name) => path.join(documents, name)),
  ...['problems', 'streams', 'uploads'].map((name) => fixture(`${name}.yaml`)),
]

for (const file of files)
  t.test(`${path.relative(projectRoot, file)} is the same from its plan, and so is its server`, async (t) => {
    const readers = { readers: serviceExtensions, operationReaders: operationExtensions }
    const loading = loadingProved(t, readServiceContract, loadServiceContract, readers)
    const loaded = await loading(file)
    t.strictSame(await responsesOf(loaded), await responsesOf(await readServiceContract(file)))
  })

// Returns the responses of stubs: to the engine's own paths, to each operation, and to an unknown path.
async function responsesOf(contract: ServiceContract): Promise<object[]> {
  const app = await buildServer(contract, ({ name }) => notImplemented(name))
  const operations = [...contract.operations.values()].map(
    ({ method, prefix, path }) => [method, prefix + path.replace(/\{[^}]+\}/g, '1')] as const,
  )
  const own = [...Object.values(documentPaths), '/', '/docs/contract.json', '/nowhere'].map(
    (url) => ['GET', url] as const,
  )
  const responses: object[] = []
  for (const [method, url] of [...own, ...operations, ['PATCH', '/openapi.json'] as const]) {
    const { statusCode, headers, body } = await app.inject({ method: method as 'GET', url })
    responses.push({ url, statusCode, headers: { ...headers, date: '', 'x-request-id': '' }, body })
  }
  await app.close()
  return responses
}

const text = `openapi: 3.1.0
info: { title: Toys, version: 1.0.0 }
paths:
  /toys: { $ref: toys.yaml }
`
const toys = "get: { operationId: listToys, responses: { '204': { description: None. } } }"
const advice = 'Run: npm run build'

// Reads files from memory, by their names.
function readsOf(texts: Record<string, string>): { readText: (file: string) => Promise<string> } {
  return {
    readText: async (file) => texts[path.basename(file)] ?? Promise.reject(new Error(file)),
  }
}

const own = readsOf({ 'openapi.yaml': text, 'toys.yaml': toys })

function edited(plan: Uint8Array, head: object, change = (body: PlanBody) => body): Uint8Array {
  const decoded = decodePlan(plan)
  if (decoded === undefined) throw new Error('no plan')
  return encodePlan({ ...decoded.head, ...head }, change(decoded.body))
}

for (const [title, changed, reason] of [
  [
    'a plan of another text of the contract',
    { 'openapi.yaml': `${text}#`, 'toys.yaml': toys },
    'openapi.yaml has changed since',
  ],
  [
    'a plan of another text of a file that it refers to',
    { 'openapi.yaml': text, 'toys.yaml': `${toys}#` },
    'toys.yaml has changed since',
  ],
  ['a plan of which a file is gone', { 'openapi.yaml': text }, 'toys.yaml cannot be read'],
  ['a plan of which the contract is gone', { 'toys.yaml': toys }, 'openapi.yaml cannot be read'],
] as const)
  t.test(`${title} is refused, with what mends it`, async (t) => {
    const plan = await compileContract('openapi.yaml', own)
    const message = `the plan of openapi.yaml cannot be used: ${reason}. ${advice}`
    await t.rejects(loadContract(plan, 'openapi.yaml', { ...readsOf(changed), advice }), {
      name: 'ContractError',
      message,
    })
    t.equal(await isCurrent(plan, 'openapi.yaml', readsOf(changed)), false)
    t.equal(await isCurrent(plan, 'openapi.yaml', own), true)
  })

for (const [title, change, reason] of [
  [
    'a plan that another version of the engine made',
    (plan: Uint8Array) => edited(plan, { engine: 'other' }),
    'another version of the engine made it',
  ],
  ['half a plan', (plan: Uint8Array) => plan.subarray(0, 400), 'it is damaged, or of another form'],
  ['half a head', (plan: Uint8Array) => plan.subarray(0, 40), 'it is damaged, or of another form'],
  ['an empty file', () => Buffer.of(), 'it is damaged, or of another form'],
  [
    'a plan of another form',
    (plan: Uint8Array) => Buffer.from(String(Buffer.from(plan)).replace('plan 2', 'plan 1')),
    'it is damaged, or of another form',
  ],
] as const)
  t.test(`${title} is refused, with what mends it`, async (t) => {
    const plan = change(await compileContract('openapi.yaml', own))
    const mends = 'Compile it again: npx contract-engine compile openapi.yaml'
    const message = `the plan of openapi.yaml cannot be used: ${reason}. ${mends}`
    await t.rejects(loadContract(plan, 'openapi.yaml', own), { name: 'ContractError', message })
    t.equal(await isCurrent(plan, 'openapi.yaml', own), false)
  })

t.test('a plan is refused if one of its bytes is another', async (t) => {
  const plan = await compileContract('openapi.yaml', own)
  const accepted: number[] = []
  for (let at = 0; at < plan.length; at += 7) {
    const damaged = Uint8Array.from(plan)
    damaged[at] = (damaged[at] ?? 0) ^ 1
    if (await isCurrent(damaged, 'openapi.yaml', own)) accepted.push(at)
  }
  t.strictSame(accepted, [])
})

t.test('a plan of a contract of another name is refused, with that name', async (t) => {
  const plan = await compileContract('openapi.yaml', own)
  const message = 'the plan of dolls.yaml cannot be used: it is of openapi.yaml. Again.'
  const options = { ...readsOf({ 'dolls.yaml': text, 'toys.yaml': toys }), advice: 'Again.' }
  await t.rejects(loadContract(plan, 'dolls.yaml', options), { name: 'ContractError', message })
})

t.test('a plan by other readers of extensions is not current', async (t) => {
  const plan = await compileContract('openapi.yaml', { ...own, readersVersion: '1' })
  t.equal(await isCurrent(plan, 'openapi.yaml', { ...own, readersVersion: '1' }), true)
  t.equal(await isCurrent(plan, 'openapi.yaml', { ...own, readersVersion: '2' }), false)
})

t.test('a plan belongs to its contract in whichever folder both are', async (t) => {
  const plan = await compileContract('here/openapi.yaml', own)
  t.equal(await isCurrent(plan, 'there/openapi.yaml', own), true)
})

t.test(
  'a problem that is found when a contract is mounted has the line of the text that was compiled',
  async (t) => {
    const contract = await loadContract(await compileContract('a/openapi.yaml', own), 'a/openapi.yaml', own)
    const problems = [
      { text: 'A.', at: ['paths', '/toys'] },
      { text: 'B.', at: ['info', 'version'] },
    ]
    t.strictSame(await contract.locate(problems), ['a/openapi.yaml:4:3: A.', 'a/openapi.yaml:2:22: B.'])
    t.strictSame(await contract.locate([]), [])
  },
)

// Loads the contract as another version of Node would, unknown to the build.
async function onAnother(
  contract: string,
  change: (body: PlanBody['contract']) => object,
): Promise<Contract> {
  const file = 'openapi.yaml'
  const texts = readsOf({ [file]: contract, 'toys.yaml': toys })
  const changed = edited(await compileContract(file, texts), {}, (body) => ({
    ...body,
    contract: { ...body.contract, ...change(body.contract) },
  }))
  return loadContract(changed, file, texts)
}

t.test('limits that a contract leaves open are those of the Node that serves', async (t) => {
  const limits = { body: 1, url: 2, header: 3 }
  const { urlBytes: url, headerBytes: header } = defaultLimits
  for (const [given, expected] of [
    ['', { body: 1, url, header }],
    ['x-limits: { bodyBytes: 1 }', { body: 1, url, header }],
    ['x-limits: { urlBytes: 2000 }', { ...limits, header }],
    ['x-limits: { urlBytes: 2000, headerBytes: 3000 }', limits],
  ] as const)
    t.strictSame((await onAnother(`${text}${given}`, () => ({ limits }))).limits, expected, given)
})

t.test('a method that the Node that serves does not read is refused, with its line', async (t) => {
  const change = ({ operations }: PlanBody['contract']) => ({
    operations: new Map([...operations].map(([id, each]) => [id, { ...each, method: 'FETCH' }])),
  })
  const message = 'openapi.yaml:4:3: FETCH /toys: the method FETCH is not one that Node reads'
  await t.rejects(onAnother(text, change), { name: 'ContractError', message })
})

t.test(
  'a file that a build could not write is an error when it is asked for, and the others are served',
  async (t) => {
    const message = 'a reason'
    const plan = edited(await compileContract('openapi.yaml', own), {}, (body) => ({
      ...body,
      written: new Map([...body.written, ['json30 first', { message }]]),
    }))
    const loaded = await loadContract(plan, 'openapi.yaml', own)
    await t.rejects(loaded.write('json30', 'first'), { message })
    t.match(JSON.parse(await loaded.write('json', 'first')), { info: { title: 'Toys' } })
    await t.rejects(loaded.write('yaml31', 'only'), { message: 'the plan has no file yaml31 only' })
  },
)

t.test('a plan has the text of a contract packed alone', async (t) => {
  const plan = await compileContract('openapi.yaml', own)
  t.notOk(Buffer.from(plan).includes(text))
  t.notHas(await loadContract(plan, 'openapi.yaml', own), { text })
})

t.test('each file that a server may ask for is in the plan', async (t) => {
  const formsIn = async (servers: string) => {
    const readText = async () => `${text.replace('toys.yaml', "'#/components/pathItems/Toys'")}
components: { pathItems: { Toys: {} } }
servers: [${servers}]
`
    const { body } = decodePlan(await compileContract('openapi.yaml', { readText })) ?? {}
    return [...(body?.written.keys() ?? [])].map((name) => name.split(' ')[1])
  }
  const usual = ['only', 'first']
  const four = (places: readonly string[]) => ['yaml', 'json', 'yaml30', 'json30'].flatMap(() => places)
  const absolute = '{ url: https://toys.example/v1 }'
  t.strictSame(await formsIn(absolute), four(usual))
  t.strictSame(await formsIn(`${absolute}, { url: /v1 }`), four([...usual, 'absolute']))
})
