// Mocks of public documents, unchanged: each operation responds with a body that its own validator accepts.

import { readdirSync } from 'node:fs'
import path from 'node:path'
import type { Operation } from 'contract-engine'
import { type ReadContract, readContract } from 'contract-engine/compile'
import { buildMock } from 'contract-engine/mock'
import { successesAmong } from 'contract-engine/tools'
import { contractFile, projectRoot } from 'contract-service/internal/lib/paths'
import t from 'tap'
import { createClient } from '../../src/client/index.js'

const documents = path.join(projectRoot, 'test/fixtures/documents')
const asIs = (value: unknown) => value
const extensions = { 'x-rate-limits': asIs, 'x-rate-cost': asIs }

// Makes every request valid, because only the response is tested.
function withoutRequests(contract: ReadContract): ReadContract {
  const operations = [...contract.operations].map(([id, operation]): [string, Operation] => [
    id,
    { ...operation, parameters: [], judges: {}, body: undefined, security: [] },
  ])
  return { ...contract, operations: new Map(operations) }
}

function isDeclared(status: number, operation: Operation): boolean {
  const declared = successesAmong(operation.responses).map((each) => each.status)
  return [String(status), `${Math.floor(status / 100)}xx`, 'default'].some((each) => declared.includes(each))
}

const files = readdirSync(documents)
  .filter((name) => /\.(?:json|yaml)$/.test(name))
  .map((name) => path.join(documents, name))

for (const file of [...files, contractFile]) {
  t.test(`each operation of ${path.basename(file)} responds with its success`, async (t) => {
    const contract = await readContract(file, undefined, extensions, extensions)
    const { app, left } = await buildMock(withoutRequests(contract))
    t.teardown(() => app.close())
    t.strictSame(left, [])
    for (const operation of contract.operations.values()) {
      const { id, method, prefix } = operation
      const url = prefix + operation.path.replaceAll(/\{[^}]*\}/g, '1')
      const { statusCode, payload } = await app.inject({ method: method as 'GET', url })
      t.ok(isDeclared(statusCode, operation), `${id} ${statusCode} ${payload.slice(0, 200)}`)
    }
  })
}

t.test("each declared response of the service's own contract can be preferred", async (t) => {
  const contract = await readContract(contractFile, undefined, extensions, extensions)
  const { app } = await buildMock(withoutRequests(contract))
  t.teardown(() => app.close())
  for (const { id, method, prefix, path: own, responses } of contract.operations.values()) {
    const url = prefix + own.replaceAll(/\{[^}]*\}/g, '1')
    for (const status of [...responses.keys()].filter((each) => each !== 'default')) {
      const asked = { method: method as 'GET', url, headers: { prefer: `code=${status}` } }
      const { statusCode, headers, payload } = await app.inject(asked)
      t.equal(String(statusCode), status, `${id} ${payload}`)
      t.equal(headers['preference-applied'], `code=${status}`)
    }
  }
})

t.test("the service's own client comes to the end of each page of a mock", async (t) => {
  const contract = await readContract(contractFile, undefined, extensions, extensions)
  const { app, left } = await buildMock(contract)
  t.teardown(() => app.close())
  t.strictSame(left, [])
  const origin = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  for (const host of ['127.0.0.1', 'localhost']) {
    const client = createClient({ baseUrl: `http://${host}:${origin.port}${contract.prefix}`, key: 'any' })
    const { data: page } = await client.listPets()
    const counts: number[] = []
    for (const query of [{}, { limit: 1 }, { limit: 1, status: 'sold' as const }, { after: 7n }]) {
      let count = 0
      for await (const _ of client.items('listPets', { query })) if (++count > 99) break
      counts.push(count)
    }
    t.strictSame(counts, [2 * page.length, 2, 2, page.length], host)
  }
})
