// The contract's lint, by Redocly's recommended rules: what is wrong, and where.

import path from 'node:path'
import { createConfig, getLineColLocation, lint } from '@redocly/openapi-core'

/** One line for each problem: `openapi.yaml:12:5 error what is wrong (rule)`. */
export async function lintContract(contractFile: string): Promise<string[]> {
  const config = await createConfig({
    extends: ['recommended'],
    rules: {
      'operation-4xx-response': 'error',
      'no-server-example.com': 'error',
    },
  })
  const problems = await lint({ ref: contractFile, config })
  return problems.map(({ message, ruleId, severity, location: [place], suggest }) => {
    const where = place ? getLineColLocation(place) : undefined
    const position = where ? `:${where.start.line}:${where.start.col}` : ''
    const file = path.relative(process.cwd(), where?.source.absoluteRef ?? contractFile)
    const hint = suggest.length > 0 ? ` Did you mean ${suggest.join(' or ')}?` : ''
    return `${file}${position} ${severity} ${message}${hint} (${ruleId})`
  })
}
