// What the engine makes of a contract, case by case.

import path from 'node:path'
import t from 'tap'
import { expectedOf, readFeatures, runCase } from '../../scripts/features/features.js'
import { withoutPlace } from '../../scripts/features/page.js'
import { projectRoot } from '../../src/lib/paths.js'

for (const each of await readFeatures(path.join(projectRoot, 'test/engine/cases.yaml'))) {
  t.test(`${each.area}: ${each.feature}`, async (t) => {
    const { refused, outcomes, warnings } = await runCase(each)
    t.equal(refused?.map(withoutPlace).join('\n'), each.refused)
    t.strictSame(outcomes, each.calls?.map(expectedOf) ?? [])
    if (each.warnings !== undefined) t.strictSame(warnings, each.warnings)
  })
}
