// A session with the tools that openapi-mcp-generator makes, as a language model has them: a description of
// each, and the text of a response. Exits with 1 at the first unexpected result.

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

interface Pet {
  readonly id: number
  readonly name: string
  readonly categoryId: number
}

type Tool = (name: string, args: Record<string, unknown>) => Promise<string>

const most = '9223372036854775807'
const { URL: url = '', FUTURE_URL: futureUrl = '', KEY: key = '', FREE_KEY: freeKey = '' } = process.env
const open: Client[] = []

try {
  await plain(await start('plain', url, key))
  await exact(await start('exact', url, key))
  await refusals(await start('exact', url, 'wrong'), await start('exact', url, freeKey))
  await future(await start('exact', futureUrl, key))
} finally {
  await Promise.all(open.map((client) => client.close()))
}

// From the contract as served.
async function plain(call: Tool): Promise<void> {
  const created = new Set<number>()
  for (let n = 1; n <= 50; n++) {
    const args = { 'Idempotency-Key': `mcp-${n}`, requestBody: { name: `Animal ${n}`, categoryId: n } }
    const { id } = await one(call('createPet', args))
    const again = await one(call('createPet', args))
    expect(`create ${n} once`, again.id === id && !created.has(id), again)
    created.add(id)
  }
  const listed: number[] = []
  let page: Pet[]
  do {
    const last = listed.at(-1)
    page = await many(call('listPets', { limit: 20, ...(last === undefined ? {} : { after: last }) }))
    listed.push(...page.map(({ id }) => id))
  } while (page.length === 20)
  const isAscending = listed.every((id, n) => n === 0 || id > (listed[n - 1] ?? 0))
  const missing = [...created].filter((id) => !listed.includes(id))
  expect('all pages', isAscending && missing.length === 0, { listed, missing })
}

// From the contract with int64 as text.
async function exact(call: Tool): Promise<void> {
  for (const categoryId of [most, '-9223372036854775808', '9007199254740993']) {
    const created = await call('createPet', { requestBody: { name: '"categoryId":"1"', categoryId } })
    const [, id = ''] = /"id":(\d+)/.exec(created) ?? []
    const read = await call('getPet', { petId: id })
    const isExact = (text: string) => text.includes(`"categoryId":${categoryId}`)
    expect(`create and read ${categoryId}`, isExact(created) && isExact(read), { created, read })
    const before = String(BigInt(id) - 1n)
    expect('list after', isExact(await call('listPets', { after: before, limit: 1 })), before)
  }
  refused(
    '400',
    await call('createPet', { requestBody: { name: 'Bo', categoryId: 'x' } }),
    400,
    'invalid_request',
  )
  refused('404', await call('getPet', { petId: most }), 404, 'pet_not_found')
}

async function refusals(wrong: Tool, free: Tool): Promise<void> {
  refused('401', await wrong('listPets', {}), 401, 'invalid_api_key')
  let answer = await free('listPets', {})
  while (!answer.includes('Status 4')) answer = await free('listPets', {})
  refused('429', answer, 429, 'rate_limit_exceeded')
  expect('429 says how long to wait', /Try again in \d+ second/.test(answer), answer)
}

async function future(call: Tool): Promise<void> {
  const list = await call('listPets', {})
  expect('new field and status', list.includes('"reserved"') && list.includes('"bornOn"'), list)
  refused('new error code', await call('getPet', { petId: '1' }), 404, 'pet_reserved')
}

async function start(folder: string, baseUrl: string, token: string): Promise<Tool> {
  const client = new Client({ name: 'session', version: '1.0.0' })
  open.push(client)
  const { PATH = '' } = process.env
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--import', 'tsx', `${folder}/src/index.ts`],
    env: { PATH, API_BASE_URL: baseUrl, BEARER_TOKEN_APIKEY: token },
    stderr: 'ignore',
  })
  await client.connect(transport)
  const { tools } = await client.listTools()
  expect('tools', tools.length === 3 && tools.every(({ description = '' }) => fits(description)), tools)
  return async (name, args) => {
    const { content } = (await client.callTool({ name, arguments: args })) as {
      content: { text: string }[]
    }
    return content[0]?.text ?? ''
  }
}

function fits(description: string): boolean {
  return description.length > 0 && description.length <= 1024
}

async function one(text: Promise<string>): Promise<Pet> {
  return bodyOf(await text) as Pet
}

async function many(text: Promise<string>): Promise<Pet[]> {
  return bodyOf(await text) as Pet[]
}

function bodyOf(text: string): unknown {
  const [, body] = /^API Response \(Status: 20[01]\):\n([\s\S]*)$/.exec(text) ?? []
  if (body === undefined) throw new Error(text)
  return JSON.parse(body)
}

function refused(label: string, text: string, status: number, code: string): void {
  expect(label, text.includes(`Status ${status}`) && text.includes(`"code":"${code}"`), text)
}

function expect(label: string, ok: boolean, actual: unknown): void {
  if (!ok) throw new Error(label, { cause: actual })
  console.log(label)
}
