// Each case of the engine, and each feature, by way of a plan: the same contract, the same responses.

import t from 'tap'
import { readContract } from '../../src/compile/index.js'
import { loadContract } from '../../src/serve/index.js'
import { expectedOf, readFeatures, runCase, withoutPlace } from '../../src/testing/features.js'
import { loadingProved } from '../../src/testing/plans.js'
import { casesFile, featuresFile } from '../fixtures/features.js'

const cases = await readFeatures(casesFile)
// What generate refuses, the engine may accept.
const features = (await readFeatures(featuresFile)).filter(({ refused }) => refused === undefined)

for (const each of [...cases, ...features])
  t.test(`${each.area}: ${each.feature}, from its plan`, async (t) => {
    const { refused, outcomes } = await runCase(each, { read: loadingProved(t, readContract, loadContract) })
    t.equal(refused?.map(withoutPlace).join('\n'), each.refused)
    t.strictSame(outcomes, each.calls?.map(expectedOf) ?? [])
  })
