// Each case and each feature of the engine with a plan, whose functions are printed: it gives the same
// contract and the same responses as the functions that Ajv compiles within the process.

import { loadContract } from 'contract-engine'
import { readContract } from 'contract-engine/compile'
import { engineAlone, type Result, readFeatures, runCase, withoutPlace } from 'contract-testing/features'
import { sampled } from 'contract-testing/nightly'
import { loadingProved } from 'contract-testing/plans'
import t, { type Test } from 'tap'
import { casesFile, featuresFile, tryRow } from '../fixtures/features.js'

const loading = (t: Test) => ({ ...engineAlone, read: loadingProved(t, readContract, loadContract) })
const cases = sampled(await readFeatures(casesFile))
const features = sampled(await readFeatures(featuresFile))

for (const each of [...cases, ...features.filter(({ refused }) => refused === undefined)])
  t.test(`${each.area}: ${each.feature}, from its plan`, async (t) => {
    await tryRow(t, each, loading(t))
  })

// The engine may accept a contract that generate refuses.
for (const each of features.filter(({ refused }) => refused !== undefined))
  t.test(`${each.area}: ${each.feature}, from its plan as from its files`, async (t) => {
    const told = ({ refused, outcomes }: Result) => ({ refused: refused?.map(withoutPlace), outcomes })
    t.strictSame(told(await runCase(each, loading(t))), told(await runCase(each, engineAlone)))
  })
