// Each row of the features page, served by printed code and by what is compiled within the process.

import t from 'tap'
import { type Result, readFeatures, runCase, withoutPlace } from '../../../src/testing/features.js'
import { withPrintedCode } from '../../../src/testing/printed-code.js'
import { featuresFile } from '../../fixtures/features.js'

for (const each of await readFeatures(featuresFile))
  t.test(`printed code serves as compiled code does: ${each.area}: ${each.feature}`, async (t) => {
    const [printed, compiled] = [await runCase(each, { prepare: withPrintedCode }), await runCase(each)]
    t.strictSame(told(printed), told(compiled))
  })

// Only what is compiled within the process finds where a schema is that does not compile: `generate` has, before.
function told({ refused, ...others }: Result): Result {
  return { ...others, ...(refused && { refused: refused.map(withoutPlace) }) }
}
