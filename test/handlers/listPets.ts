import t, { type Test } from 'tap'
import { otherStatus, pageDefault, pageMax, prefix, status, statuses } from '../fixtures/facts.js'
import { type Answer, type Service, send, sendRaw, startService } from '../fixtures/service.js'

// No status, and every status.
const kinds = [null, ...statuses]
// The number of animals of each kind.
const ofEach = 6
const total = ofEach * kinds.length

// Adds animals of each kind in turn.
async function addPets({ sql }: Service, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, i) => ({
    name: `pet ${i}`,
    category_id: i,
    status: kinds[i % kinds.length] ?? null,
  }))
  await sql`insert into pets ${sql(rows)}`
}

function nextOf({ headers }: Answer): string | undefined {
  const link = headers.get('link')
  return link === null ? undefined : (/^<([^<>]+)>; rel="next"$/.exec(link)?.[1] ?? `no next link: ${link}`)
}

// Follows the links to the last page, as a client would.
async function walk(
  { auth, base }: Service,
  query: string,
  between: () => Promise<unknown> = async () => {},
): Promise<{ ids: bigint[]; sizes: number[] }> {
  const ids: bigint[] = []
  const sizes: number[] = []
  let next: string | undefined = `${base}/pets?${query}`
  while (next !== undefined) {
    const page: Answer = await send(next, 'GET', auth)
    if (page.status !== 200) throw new Error(`${next}: ${page.text}`)
    ids.push(...page.body.map(({ id }: { id: number | bigint }) => BigInt(id)))
    sizes.push(page.body.length)
    const link = nextOf(page)
    next = link && new URL(link, next).href
    await between()
  }
  return { ids, sizes }
}

async function idsOf({ sql }: Service, status?: string): Promise<bigint[]> {
  const rows = status
    ? await sql`select id from pets where status = ${status} order by id`
    : await sql`select id from pets order by id`
  return rows.map(({ id }) => id)
}

// Returns the expected sizes of the pages.
function sizesOf(count: number, limit: number): number[] {
  const rest = count % limit
  return [...Array(Math.floor(count / limit)).fill(limit), ...(rest === 0 ? [] : [rest])]
}

function isAscending(ids: readonly bigint[]): boolean {
  return ids.every((id, i) => i === 0 || id > (ids[i - 1] ?? id))
}

async function startWith(t: Test, count: number): Promise<Service> {
  const service = await startService(t)
  await addPets(service, count)
  return service
}

t.test('a list of no animals is an empty array without a next page', async (t) => {
  const { call } = await startService(t)
  for (const path of ['/pets', `/pets?status=${status}`, '/pets?limit=1']) {
    const response = await call('GET', path)
    t.match(response, { status: 200, text: '[]' })
    t.equal(nextOf(response), undefined)
  }
})

t.test(`a list without a limit has pages of ${pageDefault}`, async (t) => {
  const service = await startWith(t, pageDefault + 4)
  t.strictSame(await walk(service, ''), {
    ids: await idsOf(service),
    sizes: [pageDefault, ...sizesOf(4, pageDefault)],
  })
})

t.test(`a list of ${total} animals`, async (t) => {
  const service = await startWith(t, total)
  const { call, origin, auth, base } = service
  const all = await idsOf(service)

  t.test('returns each animal as it was added', async (t) => {
    const page = kinds.slice(0, pageMax)
    const { text } = await call('GET', `/pets?limit=${page.length}`)
    const pets = page.map((status, i) => {
      const given = status === null ? '' : `,"status":"${status}"`
      return `{"id":${all[i]},"name":"pet ${i}","categoryId":${i}${given}}`
    })
    t.equal(text, `[${pets.join()}]`)
  })

  // Divisors of the total and other numbers, the total itself, and the maximum.
  const limits = [1, 5, 8, total / 2, total - 1, total, pageMax].filter((limit) => limit <= pageMax)
  for (const limit of new Set(limits)) {
    t.test(`with limit=${limit} is followed to its last page, which has no next link`, async (t) => {
      t.strictSame(await walk(service, `limit=${limit}`), { ids: all, sizes: sizesOf(total, limit) })
    })
  }

  for (const status of statuses) {
    t.test(`filters by the status ${status}`, async (t) => {
      const ids = await idsOf(service, status)
      t.equal(ids.length, ofEach)
      t.strictSame(await walk(service, `status=${status}&limit=4`), { ids, sizes: [4, 2] })
      t.strictSame(await walk(service, `status=${status}&limit=3`), { ids, sizes: [3, 3] }, 'in full pages')
    })
  }

  const tooMany = String(pageMax + 1)
  for (const limit of ['0', '-1', tooMany, '9007199254740993', '1.0', '1e1', '', ' ', '05', 'all', 'null']) {
    t.test(`refuses the limit "${limit}"`, async (t) => {
      const response = await call('GET', `/pets?limit=${encodeURIComponent(limit)}`)
      t.match(response, {
        status: 400,
        body: { code: 'invalid_request', message: 'query.limit must be an integer' },
      })
    })
  }

  for (const wrong of [
    '',
    status.toUpperCase(),
    'no-such',
    'null',
    `${status},${otherStatus}`,
    `${status} `,
  ]) {
    t.test(`refuses the status "${wrong}"`, async (t) => {
      const response = await call('GET', `/pets?status=${encodeURIComponent(wrong)}`)
      const message = `query.status must be one of: ${statuses.join(', ')}`
      t.strictSame(response.body, { code: 'invalid_request', message, status: 400 })
    })
  }

  const notIds = [
    '',
    'x',
    '1.0',
    '1e1',
    '1,2',
    '05',
    ' 1',
    '9223372036854775808',
    '9'.repeat(30),
    "1' or 1=1",
    '%00',
  ]
  for (const after of notIds) {
    t.test(`refuses a page after "${after}"`, async (t) => {
      const response = await call('GET', `/pets?after=${after}`)
      t.match(response, {
        status: 400,
        body: { code: 'invalid_request', message: /^query\.after must [^;]+$/ },
      })
    })
  }

  t.test('begins after any id, whatever the filter, and also of an animal that there is not', async (t) => {
    for (const filter of ['', `&status=${status}`]) {
      const ids = await idsOf(service, filter === '' ? undefined : status)
      const places = [-5n, 0n, ...all, ...all.map((id) => id + 1n), 9223372036854775807n]
      for (const after of places)
        t.strictSame(
          await walk(service, `limit=${pageMax}&after=${after}${filter}`),
          { ids: ids.filter((id) => id > after), sizes: [ids.filter((id) => id > after).length] },
          `${after}${filter}`,
        )
    }
  })

  t.test('is paged by a caller that sees only bodies', async (t) => {
    const limit = 5
    const ids: bigint[] = []
    let page: { readonly id: number }[] = []
    do {
      const last = page.at(-1)
      page = (await call('GET', `/pets?limit=${limit}${last === undefined ? '' : `&after=${last.id}`}`)).body
      ids.push(...page.map(({ id }) => BigInt(id)))
    } while (page.length === limit)
    t.strictSame(ids, all)
  })

  t.test('accepts another limit on the next page', async (t) => {
    const first = await call('GET', '/pets?limit=2')
    const next = new URL(nextOf(first) ?? '', `${base}/pets`)
    next.searchParams.set('limit', '3')
    const second = await send(next.href, 'GET', auth)
    t.strictSame(
      second.body.map(({ id }: { id: number }) => BigInt(id)),
      all.slice(2, 5),
    )
  })

  t.test('is 304 to a caller that has it, until an animal or a link is added', async (t) => {
    const shop = await startWith(t, 2)
    const etagOf = async (path: string) => (await shop.call('GET', path)).headers.get('etag') ?? ''
    const known = new Map<string, string>()
    for (const path of ['/pets', '/pets?limit=2', `/pets/${(await idsOf(shop))[0]}`])
      known.set(path, await etagOf(path))
    t.equal(new Set(known.values()).size, 2, 'two lists of the same animals are the same')
    const statuses = () =>
      Promise.all(
        [...known].map(async ([path, etag]) => {
          const { status, text } = await shop.call('GET', path, { headers: { 'if-none-match': etag } })
          return [status, status === 304 && text]
        }),
      )
    t.strictSame(await statuses(), Array(3).fill([304, '']))
    await addPets(shop, 1)
    t.strictSame(await statuses(), [
      [200, false],
      [200, false],
      [304, ''],
    ])
  })

  t.test('has the links of the 200 in a 304, of a list as of an animal', async (t) => {
    const shop = await startWith(t, 2)
    for (const [path, rel] of [
      ['/pets?limit=1', 'next'],
      [`/pets/${(await idsOf(shop))[0]}`, 'successor-version'],
    ] as const) {
      const { headers } = await shop.call('GET', path)
      const etag = headers.get('etag') ?? ''
      const again = await shop.call('GET', path, { headers: { 'if-none-match': etag } })
      t.equal(again.status, 304)
      t.match(again.headers.get('link'), new RegExp(`rel="${rel}"$`))
      t.equal(again.headers.get('link'), headers.get('link'))
    }
  })

  t.test('links to the host that the request names', async (t) => {
    for (const target of [`${prefix}/pets?limit=2`, `http://store.example${prefix}/pets?limit=2`]) {
      const response = await sendRaw(
        origin,
        `GET ${target} HTTP/1.1\r\nHost: store.example\r\nX-Forwarded-Host: evil.example\r\n`,
        `Authorization: ${auth.authorization}\r\nConnection: close\r\n\r\n`,
      )
      t.match(response, /^HTTP\/1.1 200 /)
      const next = `http://store.example${prefix}/pets\\?limit=2&after=\\d+`
      t.match(response, new RegExp(`\r\nlink: <${next}>; rel="next"\r\n`, 'i'))
      t.match(response, /\r\ncache-control: .*(no-store|private)/i, 'which no cache stores for others')
    }
  })

  t.test('responds to HEAD with the same headers and no body', async (t) => {
    const get = await call('GET', '/pets?limit=2')
    const head = await call('HEAD', '/pets?limit=2')
    t.equal(head.status, 200)
    t.equal(head.text, '')
    t.ok(nextOf(head))
    for (const name of ['link', 'content-type', 'content-length']) {
      t.equal(head.headers.get(name), get.headers.get(name), name)
    }
    t.equal((await call('HEAD', '/pets?limit=0')).status, 400)
  })

  t.test('lists ids of any size', async (t) => {
    const large = await startService(t)
    await large.sql`alter table pets alter column id restart with 9223372036854775803`
    await addPets(large, 5)
    const ids = [3n, 4n, 5n, 6n, 7n].map((last) => 9223372036854775800n + last)
    t.strictSame(await walk(large, 'limit=2'), { ids, sizes: [2, 2, 1] })
  })
})

t.test('following links while animals are added visits each earlier animal exactly once', async (t) => {
  const service = await startWith(t, 60)
  const { call } = service
  const before = { '': await idsOf(service), [`status=${status}`]: await idsOf(service, status) }
  const add = () =>
    Promise.all(
      kinds.map((status) =>
        call('POST', '/pets', { body: { name: 'new', categoryId: 1, ...(status && { status }) } }),
      ),
    )
  for (const [filter, ids] of Object.entries(before)) {
    // Adds fewer animals than a page contains, or the walk would never end.
    const walked = await walk(service, `limit=${kinds.length + 3}&${filter}`, add)
    t.ok(isAscending(walked.ids), `"${filter}" in ascending order, so none twice`)
    t.strictSame(walked.ids.slice(0, ids.length), ids, 'and none is left out')
    t.ok(walked.ids.length > ids.length, 'and some that were added meanwhile are visited, too')
  }
})
