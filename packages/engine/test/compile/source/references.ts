// One contract, inline and with every kind of `$ref`: to every reader of the engine, both are the same.

import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { generateOperations, generateTypes } from 'contract-engine/generate'
import { temporaryDirectory } from 'contract-testing/directory'
import { contractOf, forms, inline, one } from 'contract-testing/references'
import t from 'tap'
import { toOpenApi30 } from '../../../src/compile/documents/openapi-3.0.js'
import { withoutOpenApi32 } from '../../../src/compile/documents/openapi-3.1.js'
import { pageDocument } from '../../../src/compile/documents/page-document.js'
import { plainTextOf } from '../../../src/compile/documents/plain-text.js'
import { resolved } from '../../../src/compile/source/resolved.js'
import type { Contract } from '../../../src/document/contract.js'
import type { Node } from '../../../src/document/reader.js'

// Required, as generate does, because an import takes a second.
const require = createRequire(import.meta.url)
const ts: typeof import('typescript') = require('typescript')

// Returns the result of each reader for a contract.
function readingsOf(contract: Contract): Node {
  const { operations, webhooks, callbacks, securitySchemes, warnings } = contract
  const { paths, webhooks: sent } = contract.specification as Node
  return {
    operations,
    'sent requests': [webhooks, callbacks],
    'the security scheme': securitySchemes.get('key'), // another component would be another scheme
    warnings: warnings.map((each) => each.text),
    'the document as it is served from': { paths, sent },
    'the plain text': plainTextOf(contract, {}).replace(/base-[-\w]+|^- `(To)?Part.*\n/gm, ''),
    ...copiesOf(contract),
  }
}

// Returns the copies of the document. They keep the names of components, so their references are followed.
function copiesOf({ document, ...contract }: Contract): Node {
  const whole = (copy: object) => {
    const { components, paths } = resolved(copy) as Node
    return { paths, schemas: (components as Node).schemas }
  }
  return {
    'the copy of OpenAPI 3.1': whole(withoutOpenApi32(document)),
    'the copy of OpenAPI 3.0': whole(toOpenApi30(document)),
    'the page': whole(JSON.parse(pageDocument({ ...contract, document }, {}))),
  }
}

t.test('no reader tells a $ref from what it refers to', async (t) => {
  const expected = readingsOf(await contractOf(one(inline)))
  for (const [title, filesOf] of forms) {
    const readings = readingsOf(await contractOf(filesOf(inline)))
    for (const [name, each] of Object.entries(expected))
      t.strictSame(readings[name], each, `${name}, ${title}`)
  }
})

t.test('types by a $ref are those of what it refers to', async (t) => {
  const folder = temporaryDirectory(t, {})
  const lines = [
    'type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false',
    "import type * as inline from './inline-operations.js'",
  ]
  const contracts: [name: string, contract: Contract][] = [['inline', await contractOf(one(inline))]]
  for (const [title, filesOf] of forms)
    contracts.push([title.replace(/\W+/g, '-'), await contractOf(filesOf(inline))])
  for (const [i, [name, contract]] of contracts.entries()) {
    const types = generateTypes(contract)
    writeFileSync(path.join(folder, `${name}-types.ts`), types)
    const operations = generateOperations(contract, types).replaceAll('./types.js', `./${name}-types.js`)
    writeFileSync(path.join(folder, `${name}-operations.ts`), operations)
    lines.push(`import type * as form${i} from './${name}-operations.js'`)
    for (const id of ['watch', 'add', 'change'])
      lines.push(
        `export const ${id}${i}: Same<inline.Operations['${id}'], form${i}.Operations['${id}']> = true // ${name}`,
      )
    for (const id of ['Webhooks', 'Callbacks'])
      lines.push(`export const ${id}${i}: Same<inline.${id}, form${i}.${id}> = true // ${name}`)
  }
  const file = path.join(folder, 'check.ts')
  writeFileSync(file, lines.join('\n'))
  const { NodeNext } = ts.ModuleKind
  const options = {
    strict: true,
    noEmit: true,
    module: NodeNext,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    types: ['node'],
    typeRoots: [path.join(path.dirname(require.resolve('@types/node/package.json')), '..')],
  }
  const found = ts.getPreEmitDiagnostics(ts.createProgram([file], options))
  t.strictSame(
    found.map((each) => {
      const { line = 0 } =
        each.start === undefined ? {} : (each.file?.getLineAndCharacterOfPosition(each.start) ?? {})
      return `${path.basename(each.file?.fileName ?? '')}: ${lines[line]}: ${ts.flattenDiagnosticMessageText(each.messageText, ' ')}`
    }),
    [],
  )
})
