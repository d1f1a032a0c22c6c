// Each feature of OpenAPI 3.1 and 3.2 that the engine supports, converted to OpenAPI 3.0.

import { readSource, toContract, toOpenApi30 } from 'contract-engine/tools'
import { contractOf, engineAlone, readFeatures, runCase } from 'contract-testing/features'
import { sampled } from 'contract-testing/nightly'
import t from 'tap'
import { stringify } from 'yaml'
import { featuresFile } from '../../../../scripts/features/run-feature.js'
import { problemsOf } from '../../../fixtures/openapi-problems.js'

// Features that the converted document cannot express.
const lost = new RegExp(
  '^(method: (QUERY|`additionalOp)|querystring: (JSON|text)|cookie style: (array|object)|' +
    'events: (JSON and text as|a constant text)|`multipart/form-data`: a file in `dependentSchemas`)',
)

t.test('a feature of OpenAPI 3.1 allows no less after conversion to 3.0', async (t) => {
  for (const feature of sampled(await readFeatures(featuresFile))) {
    if (feature.refused !== undefined || feature.files !== undefined) continue
    if (feature.feature.startsWith('annotations: contentEncoding')) continue // 3.0 validates its counterpart, `format: byte`
    const source = await readSource('openapi.yaml', async () => contractOf(feature))
    const document = toOpenApi30(toContract(source).contract.document) // as it is served
    // The validator takes such a field for a reference.
    const isRead = !/named \$ref|\(data\)/.test(feature.feature)
    if (isRead) t.strictSame(await problemsOf(document), [], feature.feature)
    if (lost.test(feature.feature)) continue
    const { outcomes, refused } = await runCase({ ...feature, text: stringify(document) }, engineAlone)
    t.strictSame(refused, undefined, feature.feature)
    const given = (feature.calls ?? []).map(({ message }) => message === undefined)
    t.strictSame(
      outcomes.filter(({ message }, i) => given[i] && message !== undefined),
      [],
      feature.feature,
    )
  }
})
