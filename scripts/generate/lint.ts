// The contract's lint, by Redocly's recommended rules: what is wrong, and where.

import path from 'node:path'
import { createConfig, getLineColLocation, lint, type NormalizedProblem } from '@redocly/openapi-core'

/** What the lint found, a line each: `openapi.yaml:12:5 error what is wrong (rule)`. */
export interface Findings {
  /** They make the document another one than was meant. */
  readonly errors: readonly string[]
  /** It can be served all the same. */
  readonly warnings: readonly string[]
}

// What Redocly holds for errors and the server can live with.
const warned = [
  'operation-summary',
  'operation-operationId-url-safe',
  'security-defined',
  'no-path-trailing-slash',
  'no-server-trailing-slash',
  'no-empty-servers',
]

/** Lints the document and the files that it refers to. One run at a time: the validator of examples is shared by all. */
export async function lintContract(contractFile: string): Promise<Findings> {
  const config = await createConfig({
    extends: ['recommended'],
    rules: {
      ...Object.fromEntries(warned.map((rule) => [rule, 'warn'])),
      'no-invalid-media-type-examples': 'error',
      'no-invalid-schema-examples': 'error',
      'no-invalid-parameter-examples': 'error',
    },
  })
  const problems = await lint({ ref: contractFile, config })
  const shown = problems.map((problem) => ({
    severity: problem.severity,
    line: lineOf(problem, contractFile),
  }))
  return {
    errors: shown.filter(({ severity }) => severity === 'error').map(({ line }) => line),
    warnings: shown.filter(({ severity }) => severity === 'warn').map(({ line }) => line),
  }
}

function lineOf(
  { message, ruleId, severity, location: [place], suggest }: NormalizedProblem,
  contractFile: string,
): string {
  const where = place ? getLineColLocation(place) : undefined
  const position = where ? `:${where.start.line}:${where.start.col}` : ''
  const file = path.relative(process.cwd(), where?.source.absoluteRef ?? contractFile)
  const hint = suggest.length > 0 ? ` Did you mean ${suggest.join(' or ')}?` : ''
  return `${file}${position} ${severity === 'warn' ? 'warning' : severity} ${message}${hint} (${ruleId})`
}
