// src/schemes.ts of an adopted project: the checks that were chosen, and what is left to the team.

import { oneLine } from 'contract-engine/lib/one-line'
import type { Choice } from 'contract-service/tools/lib/choose-checks'

/**
 * The list of a project with these checks in place of its own.
 * @param text of src/schemes.ts
 */
export function withChecks(text: string, { checks, left }: Choice): string {
  const used = new Set(checks.values())
  const entries = [...checks].map(([name, check]) => `  ${keyOf(name)}: ${check}(),\n`)
  const notes = [...left].map(([name, advice]) => `  // ${oneLine(`${name}: ${advice}`)}\n`)
  return text
    .replace(/import \{ apiKeys \} from .*\n/, () => importOf(used))
    .replace(/(?<=^export const schemes = )\{[^}]*\}/m, () => `{\n${entries.join('')}${notes.join('')}}`)
}

function importOf(checks: ReadonlySet<string>): string {
  return checks.size === 0
    ? ''
    : `import { ${[...checks].sort().join(', ')} } from 'contract-service/checks'\n`
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name.replace(/['\\]/g, '\\$&')}'`
}
