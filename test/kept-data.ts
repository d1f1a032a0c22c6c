// The service keeps the data that clients send: each field that an operation takes and shows is in its
// response, when it is read, and in the list. Tests every operation of the contract that has a handler.

import { isDeepStrictEqual } from 'node:util'
import type { Operation } from 'contract-engine'
import { isJson, isStub, type Node, nodeOf } from 'contract-engine/tools'
import { stringify } from 'lossless-json'
import t from 'tap'
import { handlers } from '../generated/handlers.js'
import { fieldsOf, isReadOnly, isWriteOnly, listOf, requestSample, sample } from './fixtures/sample.js'
import { type Answer, contract, type Service, send, startService } from './fixtures/service.js'

/**
 * Fields that a handler sets whatever was sent, and lists that may lack an added row, each with the reason.
 */
const excluded: Readonly<Record<`${string}.${string}` | `list of ${string}`, string>> = {
  // 'createOrder.status': 'an order begins as placed',
}

const operations = [...contract.operations.values()].filter(
  ({ name }) => !isStub(handlers[name as keyof typeof handlers]),
)

function operationOf(method: string, path: string): Operation | undefined {
  return operations.find((each) => each.method === method && each.path === path)
}

function requestContent({ body }: Operation) {
  return body?.contents.find(({ kind }) => kind === 'json')
}

function requestSchema(operation: Operation): unknown {
  return requestContent(operation)?.schema
}

function responseSchema({ responses }: Operation): unknown {
  const [success] = [...responses].find(([status]) => status.startsWith('2')) ?? []
  const contents = success === undefined ? [] : (responses.get(success)?.contents ?? [])
  return contents.find(({ mediaType }) => isJson(mediaType))?.schema
}

// Returns the fields of a request that its response also shows.
function keptFields(operation: Operation): string[] {
  const shown = fieldsOf(responseSchema(operation))
  return Object.entries(fieldsOf(requestSchema(operation)))
    .filter(([name, field]) => name in shown && !isReadOnly(field) && !isWriteOnly(field))
    .map(([name]) => name)
    .filter((name) => excluded[`${operation.name}.${name}`] === undefined)
}

interface Sent {
  readonly url: string
  readonly body: Node
  readonly answer: Answer
}

// Sends a value for each field, and for each required parameter.
async function sendSample(service: Service, operation: Operation): Promise<Sent> {
  const required = operation.parameters.filter((each) => each.required)
  const query = required.filter((each) => each.in === 'query').map(pairOf)
  const headers = Object.fromEntries(required.filter((each) => each.in === 'header').map(pairOf))
  const url = await urlOf(service, operation)
  const body = requestSample(requestSchema(operation))
  const target = query.length === 0 ? url : `${url}?${new URLSearchParams(query)}`
  const own = {
    'content-type': requestContent(operation)?.mediaType ?? 'application/json',
    ...anyVersion(operation),
  }
  const answer = await send(
    target,
    operation.method,
    { ...service.auth, ...own, ...headers },
    stringify(body),
  )
  return { url, body, answer }
}

// Drops foreign keys, because the rows that a sample refers to do not exist.
async function dropReferences({ sql }: Service): Promise<void> {
  const references = await sql`
    select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop
    from pg_constraint where contype = 'f' and conparentid = 0`
  for (const { drop } of references) await sql.unsafe(drop)
}

// Sends `If-Match: *` to an operation that changes only what its client has seen.
function anyVersion({ parameters }: Operation): Record<string, string> {
  const takes = parameters.some((each) => each.in === 'header' && each.name.toLowerCase() === 'if-match')
  return takes ? { 'if-match': '*' } : {}
}

function pairOf({ name, schema }: Operation['parameters'][number]): [name: string, value: string] {
  return [name, String(sample(schema))]
}

// Returns the URL of an operation. First adds the row that the last parameter of its path names.
async function urlOf(service: Service, { prefix, path }: Operation): Promise<string> {
  const [, parent, rest = ''] = /^(.*)\/\{[^/]+\}(\/.*)?$/.exec(path) ?? []
  if (parent === undefined) return service.origin + prefix + path
  const create = operationOf('POST', parent)
  if (create === undefined) throw new Error(`no operation adds what GET ${path} reads: POST ${parent}`)
  return locationOf(await sendSample(service, create)) + rest
}

function locationOf({ url, answer }: Sent): string {
  const location = answer.headers.get('location')
  return location === null ? `${url}/${answer.body?.id}` : new URL(location, url).href
}

// Reads all pages of a list.
async function listAt(service: Service, url: string, elements: (body: unknown) => readonly Node[]) {
  const items: Node[] = []
  let next: string | undefined = url
  while (next !== undefined) {
    const page: Answer = await send(next, 'GET', service.auth)
    items.push(...elements(page.body))
    const [, link] = /<([^>]*)>; *rel="?next"?/.exec(page.headers.get('link') ?? '') ?? []
    next = link === undefined ? undefined : new URL(link, next).href
  }
  return items
}

// Returns the operations that read a row that this one writes: the row itself, and its list.
function readersOf({ method, path }: Operation) {
  const parent = method === 'POST' ? path : path.slice(0, path.lastIndexOf('/'))
  const isOne = (each: string) => each.startsWith(`${parent}/{`) && each.indexOf('/', parent.length + 1) < 0
  return {
    one: operations.find((each) => each.method === 'GET' && isOne(each.path)),
    list: operationOf('GET', parent),
  }
}

t.test('what clients send', async (t) => {
  for (const operation of operations) {
    const names = keptFields(operation)
    if (names.length === 0) continue
    const { name, method } = operation
    t.test(`with ${name} is kept`, async (t) => {
      const service = await startService(t) // a separate one, because a value may have to be unique
      await dropReferences(service)
      const sent = await sendSample(service, operation)
      const compare = (found: unknown, schema: unknown, where: string) => {
        for (const each of names.filter((each) => each in fieldsOf(schema)))
          t.strictSame(nodeOf(found)[each], sent.body[each], `${where} has the ${each} that was sent`)
      }
      const shown = nodeOf(sent.answer.body)
      const schema = responseSchema(operation)
      t.match(String(sent.answer.status), /^2/, sent.answer.text)
      compare(shown, schema, `the response of ${name}`)
      const undeclared = Object.keys(shown).filter((each) => !(each in fieldsOf(schema)))
      t.strictSame(undeclared, [], 'and no field that the contract does not declare')

      const { one, list } = readersOf(operation)
      const url = method === 'POST' ? locationOf(sent) : sent.url
      if (one !== undefined) {
        const { body } = await send(url, 'GET', service.auth)
        compare(body, responseSchema(one), `the response of ${one.name}`)
      }
      if (list === undefined || excluded[`list of ${list.name}`] !== undefined) return
      const { element, in: elements } = listOf(responseSchema(list))
      const items = await listAt(service, url.slice(0, url.lastIndexOf('/')), elements)
      const item = items.find((each) => isSame(each, shown, names))
      t.ok(item, `${list.name} lists what was sent`)
      compare(item, element, `the list of ${list.name}`)
    })
  }
})

// True if two rows agree in the fields that the service has set, such as an id.
function isSame(item: Node, shown: Node, sent: readonly string[]): boolean {
  const own = Object.keys(shown).filter((each) => !sent.includes(each) && each in item)
  return own.every((each) => isDeepStrictEqual(item[each], shown[each]))
}
