// For each schema in features.yaml, its type accepts the bodies that the handler receives, and refuses those
// that the server refuses for their type.

import { createRequire } from 'node:module'
import path from 'node:path'
import { generateOperations, generateTypes } from 'contract-engine/generate'
import { readServiceContract } from 'contract-service/internal/auth/plans'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { readyServer } from 'contract-service/tools/generate/server'
import { contractOf, type Feature, readFeatures } from 'contract-testing/features'
import { sampled } from 'contract-testing/nightly'
import { stringify } from 'lossless-json'
import t from 'tap'
import { featuresFile } from '../../scripts/features/run-feature.js'

// Required, as generate does, because an import takes a second.
const ts: typeof import('typescript') = createRequire(import.meta.url)('typescript')

// TypeScript cannot express conditions, or a type for all other names or items. openapi-typescript does not
// follow $dynamicRef.
const unsaid =
  /^(objects: `(patternProperties|dependentSchemas)|`\$ref`: `\$dynamicRef|combinations: `if|arrays: `unevaluatedItems` beside|`discriminator`: (a mapping to a schema that is no|`defaultMapping))/

interface Row {
  readonly feature: string
  /** The types of the schemas and of the requests, in one text. */
  readonly types: string
  /** The values, as literals. */
  readonly taken: readonly string[]
  readonly refused: readonly string[]
}

/** Returns a value in TypeScript's notation. */
function literalOf(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (Array.isArray(value)) return `[${value.map(literalOf).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([name, each]) => `${JSON.stringify(name)}: ${literalOf(each)}`)
    .join(', ')} }`
}

async function rowOf(feature: Feature): Promise<Row> {
  const texts: Record<string, string> = { ...feature.files, 'openapi.yaml': contractOf(feature) }
  const contract = await readServiceContract('openapi.yaml', async (file) => texts[path.basename(file)] ?? '')
  let received: { readonly body: unknown } | undefined
  const app = await readyServer(contract, () => async (request: { readonly body: unknown }) => {
    received = request
    return { status: 200, body: null }
  })
  const taken: string[] = []
  const refused: string[] = []
  for (const { body, text, headers, message = '' } of feature.calls ?? []) {
    received = undefined
    const payload = text ?? stringify(body) ?? ''
    const type = { 'content-type': 'application/json' }
    await app.inject({ method: 'POST', url: '/values', headers: { ...type, ...headers }, payload })
    if (received !== undefined) taken.push(literalOf((received as { body: unknown }).body))
    else if (text === undefined && message.split('; ').every((each) => ofType.test(each)))
      refused.push(literalOf(body))
  }
  await app.close()
  const types = generateTypes(contract)
  const operations = generateOperations(contract, types).replace(/^import .*$/gm, '')
  return { feature: feature.feature, types: types + operations, taken, refused }
}

const ofType = /(must be (a|an) (string|boolean|object|array|number|integer)( or .*)?|is required)$/

/** Returns the compiler's messages, by file and line. */
function compile(files: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const options = { strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: true }
  const settings = { ...options, target: ts.ScriptTarget.ES2022, types: [] }
  const host = ts.createCompilerHost(settings)
  const { getSourceFile, fileExists } = host
  host.fileExists = (file) => files.has(file) || fileExists(file)
  host.getSourceFile = (file, version) => {
    const text = files.get(file)
    return text === undefined ? getSourceFile(file, version) : ts.createSourceFile(file, text, version)
  }
  const program = ts.createProgram([...files.keys()], settings, host)
  const found = new Map<string, string>()
  for (const { file, start = 0, messageText } of ts.getPreEmitDiagnostics(program)) {
    const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line
    found.set(`${file?.fileName}:${line}`, ts.flattenDiagnosticMessageText(messageText, '\n'))
  }
  return found
}

t.test('the types take what is accepted, and refuse what is refused for its type', async (t) => {
  const features = await readFeatures(featuresFile)
  const own = sampled(features.filter((each) => each.schema !== undefined && each.refused === undefined))
  const rows: Row[] = []
  for (const feature of own) rows.push(await rowOf(feature))
  const files = new Map<string, string>()
  const lines = new Map<string, { readonly row: Row; readonly value: string; readonly isTaken: boolean }>()
  for (const [i, row] of rows.entries()) {
    // With a type parameter, because an open schema allows more fields than a literal of its type may have.
    const before = `${row.types}
type Body = Exclude<Operations['values']['request']['body'], undefined>
declare function take<Value extends Body>(value: Value): void
`
    const name = path.join(projectRoot, `test/row-${i}.ts`)
    const values = [...row.taken, ...row.refused]
    const start = before.split('\n').length - 1
    for (const [j, value] of values.entries())
      lines.set(`${name}:${start + j}`, { row, value, isTaken: j < row.taken.length })
    files.set(name, before + values.map((value) => `take(${value})\n`).join(''))
  }
  const messages = compile(files)
  for (const [line, { row, value, isTaken }] of lines) {
    const message = messages.get(line)
    if (isTaken) t.equal(message, undefined, `${row.feature}: takes ${value}`)
    else if (!unsaid.test(row.feature)) t.not(message, undefined, `${row.feature}: refuses ${value}`)
  }
  const others = [...messages].filter(([line]) => !lines.has(line))
  t.strictSame(others, [], 'the types compile')
})
