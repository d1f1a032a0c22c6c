// Each feature does what its row says, and the page is what came of them.

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { expectedOf, type Result, readFeatures, runFeature } from '../../../scripts/features/features.js'
import { toPage, withoutPlace } from '../../../scripts/features/page.js'
import { projectRoot } from '../../../src/paths.js'
import '../../fixtures/compile-once.js'

const features = await readFeatures()
const results: Result[] = []

for (const feature of features) {
  t.test(`${feature.area}: ${feature.feature}`, async (t) => {
    const result = await runFeature(feature)
    results.push(result)
    const { refused, outcomes } = result
    t.same(refused?.map(withoutPlace).join('\n'), feature.refused)
    for (const line of refused ?? []) t.match(line, /^\S+\.yaml(:\d+:\d+|: )/, 'the place is named')
    if (feature.refused === undefined) t.not(outcomes.length, 0, 'it is called')
    t.strictSame(outcomes, feature.calls?.map(expectedOf) ?? [])
  })
}

t.test('the page is what npm run features makes of them', async (t) => {
  const page = await readFile(path.join(projectRoot, 'docs', 'openapi-features.md'), 'utf8')
  t.ok(page === toPage(features, results), 'run npm run features')
})
