// Writes the handlers of a resource's operations.

import type { Operation } from 'contract-engine'
import { constraintOf } from './migration.js'
import { parameterOf, type Role, setsHeader, successOf, takesIfMatch } from './operations.js'
import type { Resource } from './resource.js'
import { functionsOf } from './table.js'
import { keyName } from './words.js'

/** Returns the text of each handler, by the name of its operation. */
export function handlerTexts(resource: Resource): ReadonlyMap<string, string> {
  const entries = Object.entries(resource.operations) as [Role, Operation][]
  return new Map(entries.map(([role, operation]) => [operation.name, texts[role](resource, operation)]))
}

const texts: Readonly<Record<Role, (resource: Resource, operation: Operation) => string>> = {
  create: createText,
  get: getText,
  list: listText,
  change: changeText,
  remove: removeText,
}

interface Parts {
  /** The values, not types, that the handler imports from './handler.js'. */
  readonly imports: readonly string[]
  /** What it imports from the table's module. */
  readonly uses: readonly string[]
  readonly before?: string
  readonly request: string
  readonly context: string
  readonly body: readonly string[]
}

function moduleText(resource: Resource, { name, method, path, summary }: Operation, parts: Parts): string {
  const { imports, uses, before = '', request, context, body } = parts
  const types = ['Context', 'Request', 'Response']
  const named =
    imports.length === 0
      ? `import type { ${types.join(', ')} }`
      : `import { ${[...imports, ...types.map((each) => `type ${each}`)].sort(byName).join(', ')} }`
  const title = (summary ?? `${method} ${path}`).replaceAll('*/', '').replace(/\s+/g, ' ').replace(/\.$/, '')
  return `${named} from './handler.js'
import { ${[...uses].sort().join(', ')} } from './${resource.folder}/${resource.folder}.js'
${before}
/** ${title}. */
export async function ${name}(
  { ${request} }: Request<'${name}'>,
  { ${context} }: Context,
): Promise<Response<'${name}'>> {
${body.map((line) => `  ${line}\n`).join('')}}
`
}

function byName(a: string, b: string): number {
  const [first, second] = [a, b].map((each) => each.replace('type ', ''))
  return String(first) < String(second) ? -1 : 1
}

function createText(resource: Resource, operation: Operation): string {
  const { constant, key } = resource
  const codes = constraintCodes(resource)
  const local = localName(resource)
  const headers = [
    ...(setsHeader(operation, 'Location')
      ? [`Location: \`\${self}/\${${pathValue(local, key.name, key.type.sql)}}\``]
      : []),
    ...tagHeader(resource, operation, local),
  ]
  const isLinked = setsHeader(operation, 'Location')
  return moduleText(resource, operation, {
    imports: codes === '' ? [] : ['onConstraint'],
    uses: [constant],
    before: codes,
    request: 'body',
    context: isLinked ? 'sql, self' : 'sql',
    body: [
      `const ${local} = await ${constant}.insert(sql, body)${codes === '' ? '' : '.catch(toCode)'}`,
      `return ${responseText(operation, headers, local)}`,
    ],
  })
}

function getText(resource: Resource, operation: Operation): string {
  const { find } = functionsOf(resource)
  return moduleText(resource, operation, {
    imports: ['ApiError'],
    uses: [find, ...tagUses(resource, operation)],
    request: `params`,
    context: 'sql',
    body: [
      ...lookUp(resource, operation, `${find}(sql, ${keyText(operation)})`),
      responseLine(resource, operation),
    ],
  })
}

function changeText(resource: Resource, operation: Operation): string {
  const { change } = functionsOf(resource)
  const codes = constraintCodes(resource)
  const call = `${change}(sql, ${keyText(operation)}, body${conditionText(operation)})`
  return moduleText(resource, operation, {
    imports: ['ApiError', ...(codes === '' ? [] : ['onConstraint'])],
    uses: [change, ...tagUses(resource, operation)],
    before: codes,
    request: takesIfMatch(operation) ? 'params, headers, body' : 'params, body',
    context: 'sql',
    body: [
      ...lookUp(resource, operation, call + (codes === '' ? '' : '.catch(toCode)')),
      responseLine(resource, operation),
    ],
  })
}

function removeText(resource: Resource, operation: Operation): string {
  const { remove } = functionsOf(resource)
  return moduleText(resource, operation, {
    imports: ['ApiError'],
    uses: [remove, ...tagUses(resource, operation)],
    request: takesIfMatch(operation) ? 'params, headers' : 'params',
    context: 'sql',
    body: [
      ...lookUp(resource, operation, `${remove}(sql, ${keyText(operation)}${conditionText(operation)})`),
      responseLine(resource, operation),
    ],
  })
}

function listText(resource: Resource, operation: Operation): string {
  const { select } = functionsOf(resource)
  const isLinked = setsHeader(operation, 'Link')
  const { orderParameter: parameter, needsLimit = false } = resource.list ?? {}
  const isRenamed = parameter !== undefined && parameter !== 'order'
  const from = isRenamed ? 'page' : 'query'
  const others = [...(isRenamed ? ['order'] : []), ...(needsLimit ? [`limit: ${from}.limit ?? 20`] : [])]
  const asked = others.length === 0 ? from : `{ ...${from}, ${others.join(', ')} }`
  return moduleText(resource, operation, {
    imports: [],
    uses: [select],
    request: 'query',
    context: isLinked ? 'sql, link' : 'sql',
    body: [
      ...(isRenamed ? [`const { ${keyName(parameter)}: order, ...page } = query`] : []),
      ...(isLinked
        ? [
            `const { items, next } = await ${select}(sql, ${asked})`,
            `if (next === undefined) return { status: 200, body: items }`,
            `return { status: 200, headers: { Link: link('next', { after: next }) }, body: items }`,
          ]
        : [`const { items } = await ${select}(sql, ${asked})`, `return { status: 200, body: items }`]),
    ],
  })
}

function lookUp(resource: Resource, operation: Operation, call: string): string[] {
  const { one, key, lost } = resource
  const local = localName(resource)
  const message = `There is no ${one} with the ${key.name} \${${keyText(operation)}}.`
  const refusal = `throw new ApiError('${lost ?? 'route_not_found'}', \`${message}\`)`
  return [`const ${local} = await ${call}`, `if (${local} === undefined) ${refusal}`]
}

function localName({ schema, constant }: Resource): string {
  const name = schema.charAt(0).toLowerCase() + schema.slice(1)
  const taken = ['body', 'params', 'headers', 'query', 'sql', 'self', 'link', constant]
  return taken.includes(name) || !/^[A-Za-z_$][\w$]*$/.test(name) ? 'row' : name
}

function keyText(operation: Operation): string {
  const name = parameterOf(operation)
  return keyName(name) === name ? `params.${name}` : `params[${keyName(name)}]`
}

function pathValue(local: string, name: string, sql: string): string {
  const value = keyName(name) === name ? `${local}.${name}` : `${local}[${keyName(name)}]`
  return sql === 'text' ? `encodeURIComponent(${value})` : value
}

function conditionText(operation: Operation): string {
  return takesIfMatch(operation) ? `, { ifMatch: headers['if-match'] }` : ''
}

function responseLine(resource: Resource, operation: Operation): string {
  const local = localName(resource)
  return `return ${responseText(operation, tagHeader(resource, operation, local), local)}`
}

function responseText(operation: Operation, headers: readonly string[], local: string): string {
  const { status = '200', contents = [] } = successOf(operation) ?? {}
  const parts = [
    `status: ${status}`,
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(', ')} }`]),
    ...(contents.length === 0 ? [] : [`body: ${local}`]),
  ]
  return `{ ${parts.join(', ')} }`
}

function tagHeader({ constant }: Resource, operation: Operation, local: string): string[] {
  return setsTag(operation) ? [`ETag: ${constant}.etag(${local})`] : []
}

function tagUses({ constant }: Resource, operation: Operation): string[] {
  return setsTag(operation) ? [constant] : []
}

// True if the handler sets an ETag. A deleted row has none.
function setsTag(operation: Operation): boolean {
  return operation.method !== 'DELETE' && setsHeader(operation, 'ETag')
}

// Maps each constraint to its error code in the contract. A constraint without a code becomes a 500, whose
// log line names the constraint.
function constraintCodes({ table, fields }: Resource): string {
  const codes = fields.flatMap((field) => [
    ...(typeof field.unique === 'string' ? [[constraintOf(table, field, 'key'), field.unique]] : []),
    ...(field.references?.code === undefined
      ? []
      : [[constraintOf(table, field, 'fkey'), field.references.code]]),
  ])
  if (codes.length === 0) return ''
  const pairs = codes.map(([name = '', code]) => `${keyName(name)}: '${code}'`)
  return `\nconst toCode = onConstraint({ ${pairs.join(', ')} })\n`
}
