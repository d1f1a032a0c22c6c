// Each case of the engine, and each feature, by way of a plan: the same contract, the same responses.

import path from 'node:path'
import t from 'tap'
import { expectedOf, readFeatures, runCase } from '../../../scripts/features/features.js'
import { withoutPlace } from '../../../scripts/features/page.js'
import { projectRoot } from '../../../src/lib/paths.js'
import { loadingProved } from '../../fixtures/plans.js'

const cases = await readFeatures(path.join(projectRoot, 'test/engine/cases.yaml'))
// What generate refuses, the engine may accept.
const features = (await readFeatures()).filter(({ refused }) => refused === undefined)

for (const each of [...cases, ...features])
  t.test(`${each.area}: ${each.feature}, from its plan`, async (t) => {
    const { refused, outcomes } = await runCase(each, loadingProved(t))
    t.equal(refused?.map(withoutPlace).join('\n'), each.refused)
    t.strictSame(outcomes, each.calls?.map(expectedOf) ?? [])
  })
