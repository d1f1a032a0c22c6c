// What Ajv compiles within the process is the oracle of the code that is printed.

import t from 'tap'
import { expectedOf, readFeatures, runCase, withoutPlace } from '../../../src/testing/features.js'
import { withPrintedCode } from '../../../src/testing/printed-code.js'
import { casesFile } from '../../fixtures/features.js'

for (const each of await readFeatures(casesFile)) {
  t.test(`printed code does as ${each.area} say: ${each.feature}`, async (t) => {
    const { refused, outcomes } = await runCase(each, { prepare: withPrintedCode })
    t.equal(refused?.map(withoutPlace).join('\n'), each.refused)
    t.strictSame(outcomes, each.calls?.map(expectedOf) ?? [])
  })
}
