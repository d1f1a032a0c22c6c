// Formats packages/engine/openapi-features.md.

import type { Feature } from 'contract-testing/features'

const head = `# OpenAPI, feature by feature

For authors of contracts: what the engine supports of [OpenAPI 3.0](https://spec.openapis.org/oas/v3.0.4),
[3.1](https://spec.openapis.org/oas/v3.1.1), [3.2](https://spec.openapis.org/oas/v3.2.0) and JSON Schema
2020-12, and what \`npm run generate\` refuses. A refusal names the place in the contract and, where there is
one, another way to write it.

If an operation has no handler yet, the engine only warns of what it cannot read or write there, and responds
with 501. [Values](values.md) says how the server reads and writes what it supports.

\`npm run features\` writes this page from \`test/features.yaml\` in the sources of the engine, where each row has
its section of the specification. A test builds a server from the row and calls it, or compares the message.
`

// What stands before the table of an area.
const notes: Readonly<Record<string, string>> = {
  'OpenAPI 3.2': `Many tools do not read OpenAPI 3.2 yet. The server also has the document as \`/openapi-3.1.yaml\` and
\`/openapi-3.0.yaml\`, in which \`QUERY\` and additional operations are extensions.`,
}

/** Returns the text of the page. */
export function toPage(features: readonly Feature[]): string {
  const refused = features.filter(isRefused).length
  const counts = `${features.length} features: ${features.length - refused} work, ${refused} are refused.`
  const areas = grouped(features, ({ area }) => area)
  return `${head}\n${counts}\n${areas.map(([area, rows]) => table(area, rows)).join('')}`
}

// A row for each topic. The name of a feature is its topic and what of it is tried: `header: array`.
function table(area: string, features: readonly Feature[]): string {
  const topics = grouped(features, ({ feature }) => divided(feature)[0])
  const rows = topics.map(([topic, of]) => {
    const works = of.filter((each) => !isRefused(each))
    return `| ${cell([topic])} | ${details(works)} | ${details(of.filter(isRefused))} |\n`
  })
  const note = notes[area] === undefined ? '' : `${notes[area]}\n\n`
  return `\n## ${area}\n\n${note}| | works | refused |\n|---|---|---|\n${rows.join('')}`
}

function details(features: readonly Feature[]): string {
  return cell(features.map(({ feature }) => divided(feature)[1]))
}

function divided(feature: string): readonly [topic: string, detail: string] {
  const [topic = '', ...detail] = feature.split(': ')
  return [topic, detail.join(': ')]
}

// In the order in which the keys appear.
function grouped<Row>(rows: readonly Row[], keyOf: (row: Row) => string): [key: string, rows: Row[]][] {
  const keys = [...new Set(rows.map(keyOf))]
  return keys.map((key) => [key, rows.filter((row) => keyOf(row) === key)])
}

function cell(texts: readonly string[]): string {
  return texts.join('; ').replaceAll('|', '\\|')
}

function isRefused({ refused }: Feature): boolean {
  return refused !== undefined
}
