// Each row of the features page, served by printed code and by what is compiled within the process.

import { withPrintedCode } from 'contract-engine/testing/printed-code'
import t from 'tap'
import { type Result, readFeatures, runCase } from '../../../../scripts/features/features.js'
import { withoutPlace } from '../../../../scripts/features/page.js'

for (const each of await readFeatures())
  t.test(`printed code serves as compiled code does: ${each.area}: ${each.feature}`, async (t) => {
    const [printed, compiled] = [await runCase(each, undefined, withPrintedCode), await runCase(each)]
    t.strictSame(told(printed), told(compiled))
  })

// Only what is compiled within the process finds where a schema is that does not compile: `generate` has, before.
function told({ refused, ...others }: Result): Result {
  return { ...others, ...(refused && { refused: refused.map(withoutPlace) }) }
}
