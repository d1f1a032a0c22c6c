// Each of the service's additions to the engine, with the contract read from its files and from a plan.

import path from 'node:path'
import {
  loadServiceContract,
  operationExtensions,
  readServiceContract,
  type ServiceContract,
  serviceExtensions,
} from 'contract-service/internal/auth/plans'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { readyServer } from 'contract-service/tools/generate/server'
import { listEach } from 'contract-service/tools/lib/schemes'
import { expectedOf, readFeatures, runCase, type Way, withoutPlace } from 'contract-testing/features'
import { loadingProved } from 'contract-testing/plans'
import t, { type Test } from 'tap'

const build: Way<ServiceContract>['build'] = (contract, handlerOf, log) =>
  readyServer(contract, handlerOf, log, { listed: listEach(contract) })
const readers = { readers: serviceExtensions, operationReaders: operationExtensions }
const fromPlan = (t: Test) => loadingProved(t, readServiceContract, loadServiceContract, readers)

const ways: readonly (readonly [string, (t: Test) => Way<ServiceContract>])[] = [
  ['from its files', () => ({ read: readServiceContract, build })],
  ['from its plan', (t) => ({ read: fromPlan(t), build })],
]

for (const each of await readFeatures(path.join(projectRoot, 'test/contract-cases.yaml')))
  for (const [name, way] of ways)
    t.test(`${each.area}: ${each.feature}, ${name}`, async (t) => {
      const { refused, outcomes } = await runCase(each, way(t))
      t.equal(refused?.map(withoutPlace).join('\n'), each.refused)
      t.strictSame(outcomes, each.calls?.map(expectedOf) ?? [])
    })
