// What the engine makes of a contract, case by case.

import t from 'tap'
import { engineAlone, expectedOf, readFeatures, runCase, withoutPlace } from '../src/testing/features.js'
import { casesFile } from './fixtures/features.js'

for (const each of await readFeatures(casesFile)) {
  t.test(`${each.area}: ${each.feature}`, async (t) => {
    const { refused, outcomes, warnings } = await runCase(each, engineAlone)
    t.equal(refused?.map(withoutPlace).join('\n'), each.refused)
    t.strictSame(outcomes, each.calls?.map(expectedOf) ?? [])
    if (each.warnings !== undefined) t.strictSame(warnings, each.warnings)
  })
}
