// Errors that the compiler reports in the list of checks, src/schemes.ts.

import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { checkTypes } from 'contract-service/tools/dev/types'
import t from 'tap'
import { handlers } from '../../generated/handlers.js'
import { copyProject, edit } from '../fixtures/copy.js'

const head = `import type { handlers } from '../generated/handlers.js'
import type { Operations, SecuritySchemes } from '../generated/operations.js'
import type { SchemesOf } from 'contract-service'
import { apiKeys, basic, jwt } from 'contract-service/checks'

void [apiKeys, basic, jwt]
`

t.test('a scheme that an operation with a handler names must have a check of its kind', async (t) => {
  const copy = copyProject(t)
  edit(copy, 'tsconfig.json', '"generated", "scripts", "test"', '"generated"')
  const problems = async (list: string) => {
    const text = `${head}export const schemes = ${list} satisfies SchemesOf<Operations, SecuritySchemes, typeof handlers>\n`
    writeFileSync(path.join(copy, 'src/schemes.ts'), text)
    return (await checkTypes(copy)).server
  }
  for (const list of ['{ apiKey: apiKeys() }', '{ apiKey: jwt() }']) t.strictSame(await problems(list), [])
  const missing = /^src\/schemes\.ts:.*Property 'apiKey' is missing in type '\{\}'/
  t.match(await problems('{}'), [missing])
  const unknown = /^src\/schemes\.ts:.*'apiKye' does not exist in type/
  t.match(await problems('{ apiKey: apiKeys(), apiKye: apiKeys() }'), [unknown])
  const ofAnotherKind = '{ apiKey: basic(async () => ({ subject: "a" })) }'
  t.match(await problems(ofAnotherKind), [/^src\/schemes\.ts:.*UsernamePassword/])

  for (const name of Object.keys(handlers)) {
    const stub = `export const ${name} = notImplemented('${name}')\n`
    const file = path.join(copy, `src/handlers/${name}.ts`)
    writeFileSync(file, `import { notImplemented } from './handler.js'\n\n${stub}`)
  }
  t.strictSame(await problems('{}'), [], 'those of stubs may wait')
})
