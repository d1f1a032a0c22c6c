// A contract that is loaded from its plan is the one that is read from its files, and the plan of other files or of
// another engine is refused.

import { readdirSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { projectRoot } from '../../../src/lib/paths.js'
import { compileContract, isCurrent } from '../../../src/openapi/compile.js'
import { loadContract } from '../../../src/openapi/index.js'
import { decodePlan, encodePlan } from '../../../src/openapi/plan/plan.js'
import { loadingProved } from '../../fixtures/plans.js'

const documents = path.join(projectRoot, 'test/fixtures/documents')
const files = [
  path.join(projectRoot, 'openapi.yaml'),
  ...readdirSync(documents)
    .filter((name) => /\.(yaml|json)$/.test(name))
    .map((name) => path.join(documents, name)),
  ...['problems', 'references', 'streams', 'uploads'].map((name) =>
    path.join(projectRoot, `test/fixtures/${name}.yaml`),
  ),
]

for (const file of files)
  t.test(`${path.relative(projectRoot, file)} is the same from its plan`, async (t) => {
    await loadingProved(t)(file)
  })

const text = `openapi: 3.1.0
info: { title: Toys, version: 1.0.0 }
paths:
  /toys: { $ref: toys.yaml }
`
const toys = "get: { operationId: listToys, responses: { '204': { description: None. } } }"
const advice = 'Run: npm run build'

// Of files in memory, by their names.
function readsOf(texts: Record<string, string>): { readText: (file: string) => Promise<string> } {
  return {
    readText: async (file) => texts[path.basename(file)] ?? Promise.reject(new Error(file)),
  }
}

const own = readsOf({ 'openapi.yaml': text, 'toys.yaml': toys })

function edited(plan: Uint8Array, head: object): Uint8Array {
  const decoded = decodePlan(plan)
  if (decoded === undefined) throw new Error('no plan')
  return encodePlan({ ...decoded.head, ...head }, decoded.body)
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
  ['a plan of which a file is gone', { 'openapi.yaml': text }, 'toys.yaml has changed since'],
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
    (plan: Uint8Array) => Buffer.from(String(Buffer.from(plan)).replace('plan 1', 'plan 0')),
    'it is damaged, or of another form',
  ],
] as const)
  t.test(`${title} is refused, with what mends it`, async (t) => {
    const plan = change(await compileContract('openapi.yaml', own))
    const message = `the plan of openapi.yaml cannot be used: ${reason}. Compile it again.`
    await t.rejects(loadContract(plan, 'openapi.yaml', own), { name: 'ContractError', message })
    t.equal(await isCurrent(plan, 'openapi.yaml', own), false)
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
