// The engine's result for a contract, case by case.

import { engineAlone, readFeatures } from 'contract-testing/features'
import t from 'tap'
import { casesFile, tryRow } from './fixtures/features.js'

for (const each of await readFeatures(casesFile)) {
  t.test(`${each.area}: ${each.feature}`, async (t) => {
    const { warnings } = await tryRow(t, each, engineAlone)
    if (each.warnings !== undefined) t.strictSame(warnings, each.warnings)
  })
}
