// Each feature has the outcome that its row expects, and the page is up to date.

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { expectedOf, type Feature, readFeatures, withoutPlace } from 'contract-testing/features'
import { sampled } from 'contract-testing/nightly'
import t from 'tap'
import { toPage } from '../../../scripts/features/page.js'
import { featuresFile, runFeature } from '../../../scripts/features/run-feature.js'

const features = await readFeatures(featuresFile)
const isRefused = ({ refused }: Feature) => refused !== undefined

// packages/engine/test/features.ts also tries the supported features, without the service.
for (const feature of [
  ...features.filter(isRefused),
  ...sampled(features.filter((each) => !isRefused(each))),
]) {
  t.test(`${feature.area}: ${feature.feature}`, async (t) => {
    const { refused, outcomes } = await runFeature(feature)
    t.same(refused?.map(withoutPlace).join('\n'), feature.refused)
    for (const line of refused ?? []) t.match(line, /^\S+\.yaml(:\d+:\d+|: )/, 'it names the location')
    if (feature.refused === undefined) t.not(outcomes.length, 0, 'it has calls')
    t.strictSame(outcomes, feature.calls?.map(expectedOf) ?? [])
  })
}

t.test('packages/engine/openapi-features.md is up to date', async (t) => {
  const page = await readFile(path.join(projectRoot, 'packages/engine/openapi-features.md'), 'utf8')
  t.ok(page === toPage(features), 'run npm run features')
})
