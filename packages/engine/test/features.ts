// Each supported feature of the features page, which authors of contracts read, works without a plan.

import { engineAlone, readFeatures } from 'contract-testing/features'
import t from 'tap'
import { featuresFile, tryRow } from './fixtures/features.js'

for (const each of await readFeatures(featuresFile)) {
  if (each.refused !== undefined) continue // generate refuses it: test/scripts/features
  t.test(`${each.area}: ${each.feature}`, async (t) => {
    await tryRow(t, each, engineAlone)
  })
}
