// What Ajv compiles within the process is the oracle of the code that is printed.

import path from 'node:path'
import { withPrintedCode } from 'contract-engine/testing/printed-code'
import t from 'tap'
import { expectedOf, readFeatures, runCase } from '../../../../scripts/features/features.js'
import { withoutPlace } from '../../../../scripts/features/page.js'
import { projectRoot } from '../../../../src/lib/paths.js'

for (const each of await readFeatures(path.join(projectRoot, 'test/engine/cases.yaml'))) {
  t.test(`printed code does as ${each.area} say: ${each.feature}`, async (t) => {
    const { refused, outcomes } = await runCase(each, undefined, withPrintedCode)
    t.equal(refused?.map(withoutPlace).join('\n'), each.refused)
    t.strictSame(outcomes, each.calls?.map(expectedOf) ?? [])
  })
}
