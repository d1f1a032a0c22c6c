// Formats docs/openapi-features.md.

import type { Feature, Result } from './features.js'

const head = `# OpenAPI, feature by feature

For authors of contracts: what works, and what \`npm run generate\` refuses, with its message. A test tries each row
(\`scripts/features/features.yaml\`): it builds a server from the feature and calls it, or compares the message. For an
[adopted](adopting.md) operation without a handler, what the server cannot read or write is only a warning. Sections are those of
[OpenAPI 3.1.1](https://spec.openapis.org/oas/v3.1.1) or of JSON Schema 2020-12 (JSC: Core, JSV: Validation). \`npm run features\` writes
this page.
`

/** Returns the text of the page. */
export function toPage(features: readonly Feature[], results: readonly Result[]): string {
  const areas = [...new Set(features.map(({ area }) => area))]
  const tables = areas.map((area) => {
    const rows = features.flatMap((each, i) => (each.area === area ? [row(each, results[i])] : []))
    return `\n## ${area}\n\n| feature | section | result |\n|---|---|---|\n${rows.join('')}`
  })
  const refused = results.filter((each) => each.refused !== undefined).length
  const counts = `${features.length} features: ${features.length - refused} work, ${refused} are refused.`
  return `${head}\n${counts}\n${tables.join('')}`
}

function row({ feature, section }: Feature, result: Result | undefined): string {
  const lines = result?.refused?.map((line) => `refused: ${code(withoutPlace(line))}`)
  return `| ${escaped(feature)} | ${section ?? ''} | ${lines?.join('<br>') ?? 'works'} |\n`
}

/** Removes the location from a line of generate. */
export function withoutPlace(line: string): string {
  return line.replace(/^\S+?\.yaml:\d+:\d+:? /, '')
}

function code(text: string): string {
  return `\`${escaped(text.replaceAll('`', '’'))}\``
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|')
}
