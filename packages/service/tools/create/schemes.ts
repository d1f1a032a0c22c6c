// Writes src/schemes.ts of a new project: the chosen checks, and notes on the schemes left to the team.

import { oneLine } from 'contract-engine/lib/texts'
import type { Choice } from '../lib/choose-checks.js'

/** Returns the text of the module. */
export function schemesModule({ checks, left }: Choice): string {
  const used = [...new Set(checks.values())].sort()
  const imported = used.length === 0 ? '' : `import { ${used.join(', ')} } from 'contract-service/checks'\n`
  const entries = [...checks].map(([name, check]) => `  ${keyOf(name)}: ${check}(),\n`)
  const notes = [...left].map(([name, advice]) => `  // ${oneLine(`${name}: ${advice}`)}\n`)
  const list = entries.length + notes.length === 0 ? '{}' : `{\n${entries.join('')}${notes.join('')}}`
  return `// The check of each security scheme of the contract, by the scheme's name. If an operation with a handler
// names a scheme without a check, this does not compile. \`npm run generate\` reads this list as text: write
// the names out.

import type { SchemesOf } from 'contract-service'
${imported}import type { handlers } from '../generated/handlers.js'
import type { Operations, SecuritySchemes } from '../generated/operations.js'

export const schemes = ${list} satisfies SchemesOf<Operations, SecuritySchemes, typeof handlers>
`
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name.replace(/['\\]/g, '\\$&')}'`
}
