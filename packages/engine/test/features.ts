// What authors of contracts read on the features page works, without a plan.

import t from 'tap'
import { engineAlone, expectedOf, readFeatures, runCase } from '../src/testing/features.js'
import { featuresFile } from './fixtures/features.js'

for (const each of await readFeatures(featuresFile)) {
  if (each.refused !== undefined) continue // by generate: test/scripts/features
  t.test(`${each.area}: ${each.feature}`, async (t) => {
    const { refused, outcomes } = await runCase(each, engineAlone)
    t.equal(refused, undefined)
    t.strictSame(outcomes, each.calls?.map(expectedOf) ?? [])
  })
}
