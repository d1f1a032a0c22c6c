// The pages of an adopted project: what they said of the animals goes.

import path from 'node:path'
import { clientName, credentialsExample } from 'contract-client/generate'
import type { Contract, Operation } from 'contract-engine'
import { nodeOf } from 'contract-engine/tools'

/** README.md, from its template. */
export function readme(template: string, { title }: Contract): string {
  return template.replaceAll('{{title}}', title)
}

/** docs/adopting.md from its part on what is left to do: what adopt does is done. */
export function adoptingPage(text: string): string {
  return text.replace(
    /^(# .*\n)[\s\S]*?(?=^## Left to you)/m,
    '$1\nThis project has adopted its contract.\n\n',
  )
}

/** A page whose links to removed files and folders are plain text. @param page its path from the root */
export function withoutLinks(text: string, page: string, removed: readonly string[]): string {
  const isRemoved = (target: string) => {
    const file = path.posix.join(path.posix.dirname(page), target)
    return removed.some((part) => file === part || file.startsWith(`${part}/`))
  }
  return text.replace(/\[([^\]]*)\]\(([^)\s#]+)(#[^)]*)?\)/g, (link, words, target: string) =>
    isRemoved(target) ? words : link,
  )
}

/** The README of the client's package, with operations and schemas of the contract as its examples. */
export function clientReadme(text: string, contract: Contract): string {
  const example = exampleOf([...contract.operations.values()])
  const [schema = 'Name', ...others] = schemaNames(contract)
  const types = [...new Set([schema, ...others.slice(0, 2), 'ErrorCode'])].join(', ')
  const operation = example === undefined ? 'operation' : clientName(example)
  const call = example !== undefined && needsNothing(example) ? `${operation}()` : `${operation}({ … })`
  const [first, last] = samples(operation, call, contract)
  return text
    .replace(/```js\n[\s\S]*?```/, first)
    .replace(/```ts\n[\s\S]*?```/, last)
    .replace(/import type \{[^}]*\} from/, `import type { ${types} } from`)
    .replace(/\blistPets\(\{ query, /g, `${operation}({ `)
    .replace(/\b(createPet|listPets|getPet)\b/g, operation)
    .replace(/\b(New)?Pet\b/g, schema)
}

function samples(
  operation: string,
  call: string,
  contract: Contract,
): readonly [first: string, last: string] {
  const baseUrl = `baseUrl: 'https://api.example.com${contract.prefix}'`
  const options = [baseUrl, credentialsExample(contract)].filter(Boolean).join(', ')
  const first = `import { createClient } from 'animal-store-client'

const client = createClient({ ${options} })
const { data } = await client.${call}
console.log(data)`
  const last = `import { isErrorOf } from 'animal-store-client'

await client.${call}.catch((error) => {
  if (isErrorOf(error, '${operation}')) console.log(error.status, error.body)
  else throw error
})`
  return [`\`\`\`js\n${first}\n\`\`\``, `\`\`\`ts\n${last}\n\`\`\``]
}

function exampleOf(operations: readonly Operation[]): Operation | undefined {
  return operations.find((each) => each.isSafe && needsNothing(each)) ?? operations[0]
}

function needsNothing({ parameters, body }: Operation): boolean {
  return body?.required !== true && !parameters.some(({ required }) => required)
}

function schemaNames({ document }: Contract): string[] {
  const { schemas } = nodeOf(nodeOf(document).components) as { readonly schemas?: object }
  return Object.keys(schemas ?? {}).filter((name) => /^[A-Z]\w*$/.test(name))
}
