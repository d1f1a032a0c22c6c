// Formats packages/engine/openapi-features.md.

import type { Feature } from 'contract-testing/features'

const head = `# OpenAPI, feature by feature

For authors of contracts: what works, and what \`npm run generate\` refuses, with its message. A test tries each
(\`test/features.yaml\`): it builds a server from the feature and calls it, or compares the message. For an
adopted operation without a handler, what the server cannot read or write is only a warning. Sections are those of
[OpenAPI 3.1.1](https://spec.openapis.org/oas/v3.1.1) or of JSON Schema 2020-12 (JSC: Core, JSV: Validation). \`npm run features\` writes
this page.
`

const widthMax = 150

/** Returns the text of the page. */
export function toPage(features: readonly Feature[]): string {
  const areas = grouped(features, ({ area }) => area)
  const refused = features.filter((each) => each.refused !== undefined).length
  const counts = `${features.length} features: ${features.length - refused} work, ${refused} are refused.`
  return `${head}\n${counts}\n${areas.map(([area, rows]) => section(area, rows)).join('')}`
}

function section(area: string, rows: readonly Feature[]): string {
  const works = rows.filter(({ refused }) => refused === undefined)
  const refusals = rows.flatMap(({ refused, ...each }) => (refused ? [row(each, refused.split('\n'))] : []))
  const table = ['| refused | section | with the message |', '|---|---|---|', ...refusals, ''].join('\n')
  return `\n## ${area}\n\nWorks: ${listed(works)}\n${refusals.length > 0 ? `\n${table}` : ''}`
}

// A sentence for each section of the specification.
function listed(rows: readonly Feature[]): string {
  const bySection = grouped(rows, ({ section = '' }) => section)
  const sentences = bySection.map(([section, of]) => {
    const names = of.map(({ feature }) => feature).join('; ')
    return section === '' ? `${names}.` : `${names} (${section}).`
  })
  return wrapped(`Works: ${sentences.join(' ')}`).slice('Works: '.length)
}

// In the order in which the keys appear.
function grouped<Row>(rows: readonly Row[], keyOf: (row: Row) => string): [key: string, rows: Row[]][] {
  const keys = [...new Set(rows.map(keyOf))]
  return keys.map((key) => [key, rows.filter((row) => keyOf(row) === key)])
}

function wrapped(text: string): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + 1 + word.length <= widthMax) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines.join('\n')
}

function row({ feature, section }: Pick<Feature, 'feature' | 'section'>, refused: readonly string[]): string {
  const lines = refused.map((line) => code(line))
  return `| ${escaped(feature)} | ${section ?? ''} | ${lines.join('<br>')} |`
}

function code(text: string): string {
  return `\`${escaped(text.replaceAll('`', '’'))}\``
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|')
}
