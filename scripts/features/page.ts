// docs/openapi-features.md: what becomes of each feature.

import type { Feature, Result } from './features.js'

const head = `# OpenAPI, feature by feature

For those who wonder what a contract may say. Each row was tried (\`scripts/features/features.yaml\`): of what works, a server was built
and called; of what does not, this is the line that \`npm run generate\` says, after the file, line and column. Of an adopted operation that is
not written yet, what the server could not read or write is a warning. Sections are those of
[OpenAPI 3.1.1](https://spec.openapis.org/oas/v3.1.1), or of JSON Schema 2020-12 (Core: JSC, Validation: JSV).
\`npm run features\` writes this page.
`

/** The text of the page. */
export function toPage(features: readonly Feature[], results: readonly Result[]): string {
  const areas = [...new Set(features.map(({ area }) => area))]
  const tables = areas.map((area) => {
    const rows = features.flatMap((each, i) => (each.area === area ? [row(each, results[i])] : []))
    return `\n## ${area}\n\n| feature | section | |\n|---|---|---|\n${rows.join('')}`
  })
  const refused = results.filter((each) => each.refused !== undefined).length
  return `${head}\n${features.length} features: ${features.length - refused} work, ${refused} are refused.\n${tables.join('')}`
}

function row({ feature, section }: Feature, result: Result | undefined): string {
  const lines = result?.refused?.map((line) => `refused: ${code(withoutPlace(line))}`)
  return `| ${escaped(feature)} | ${section} | ${lines?.join('<br>') ?? 'works'} |\n`
}

/** A line of generate without its place. */
export function withoutPlace(line: string): string {
  return line.replace(/^\S+?\.yaml:\d+:\d+:? /, '')
}

function code(text: string): string {
  return `\`${escaped(text.replaceAll('`', '’'))}\``
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|')
}
