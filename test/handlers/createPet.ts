import t from 'tap'
import { nameLengthMax, prefix, status, statuses } from '../fixtures/facts.js'
import { contract, send, sendRaw, startService } from '../fixtures/service.js'

t.test('adding an animal', async (t) => {
  const { call, sql, origin, auth, base } = await startService(t)
  const create = (body: unknown) => call('POST', '/pets', { body })

  t.test('returns it with its id and its Location', async (t) => {
    const added = await create({ name: 'Rex', categoryId: 3, status })
    t.equal(added.status, 201)
    t.strictSame(added.body, { id: added.body.id, name: 'Rex', categoryId: 3, status })
    const location = `${base}/pets/${added.body.id}`
    t.equal(added.headers.get('location'), location)
    t.equal(added.headers.get('content-type'), 'application/json; charset=utf-8')
    const read = await send(location, 'GET', auth)
    t.equal(read.status, 200)
    t.equal(read.text, added.text)
  })

  t.test('assigns ids in ascending order', async (t) => {
    const first = await create({ name: 'a', categoryId: 1 })
    const second = await create({ name: 'a', categoryId: 1 })
    t.ok(second.body.id > first.body.id)
  })

  t.test('omits a status that was not sent, and stores none', async (t) => {
    const added = await create({ name: 'Misty', categoryId: 7 })
    t.equal(added.text, `{"id":${added.body.id},"name":"Misty","categoryId":7}`)
    const [row] = await sql`select status from pets where id = ${added.body.id}`
    t.equal(row?.status, null)
  })

  for (const status of statuses) {
    t.test(`stores the status ${status}`, async (t) => {
      t.match(await create({ name: 'Rex', categoryId: 3, status }), { status: 201, body: { status } })
    })
  }

  const numbers: [written: string, kept: string][] = [
    ['0', '0'],
    ['-1', '-1'],
    ['9007199254740993', '9007199254740993'],
    ['9223372036854775807', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['1.0', '1'],
    ['1.2e3', '1200'],
  ]
  for (const [written, kept] of numbers) {
    t.test(`stores the category ${written} exactly`, async (t) => {
      const added = await create(`{"name":"Rex","categoryId":${written}}`)
      t.equal(added.text, `{"id":${added.body.id},"name":"Rex","categoryId":${kept}}`)
      t.equal((await call('GET', `/pets/${added.body.id}`)).text, added.text)
      const [row] = await sql`select category_id::text from pets where id = ${added.body.id}`
      t.equal(row?.category_id, kept)
    })
  }

  const wrongNumbers: [written: string, code: string][] = [
    ['9223372036854775808', 'invalid_request'],
    ['-9223372036854775809', 'invalid_request'],
    ['1.5', 'invalid_request'],
    ['"3"', 'invalid_request'],
    ['null', 'invalid_request'],
    ['3.0000000000000000001', 'invalid_json'],
    ['1e400', 'invalid_json'],
  ]
  for (const [written, code] of wrongNumbers) {
    t.test(`refuses the category ${written}`, async (t) => {
      const response = await create(`{"name":"Rex","categoryId":${written}}`)
      t.match(response, { status: 400, body: { code } })
    })
  }

  const names: [title: string, name: string][] = [
    ['a blank', ' '],
    ['blanks around it', '  Rex\t'],
    ['quotes and backslashes', '\'"\\`; drop table pets; --'],
    ['markup', '<b>&amp;</b>'],
    ['a line break and other control characters', 'a\n\r\t\u0001\u001f\u007f\u0085\u2028\u2029'],
    ['an emoji of several code points', '👩‍👩‍👧‍👦🏳️‍🌈'],
    ['letters that join', 'e\u0301 = é, \u1100\u1161'],
    ['writing from right to left', '\u202eشيرين\u202c ‏רקס'],
    ['a byte order mark', '\ufeffRex'],
    ['noncharacters and the last code point', '\ufffe\uffff\u{10ffff}'],
    [`${nameLengthMax} letters`, 'x'.repeat(nameLengthMax)],
    [`${nameLengthMax} characters of two code units`, '😀'.repeat(nameLengthMax)],
    ['a number', '007'],
    ['the word null', 'null'],
  ]
  for (const [title, name] of names) {
    t.test(`stores a name verbatim: ${title}`, async (t) => {
      const added = await create({ name, categoryId: 1 })
      t.equal(added.status, 201)
      t.ok(added.body.name === name)
      t.ok((await call('GET', `/pets/${added.body.id}`)).body.name === name)
      const [row] = await sql`select name from pets where id = ${added.body.id}`
      t.ok(row?.name === name)
    })
  }

  const wrongNames: [title: string, name: string, problem: string][] = [
    ['none at all', '""', 'have at least 1 character'],
    ['a letter too many', `"${'x'.repeat(nameLengthMax + 1)}"`, `have at most ${nameLengthMax} characters`],
    [
      'a character of two code units too many',
      `"${'😀'.repeat(nameLengthMax + 1)}"`,
      `have at most ${nameLengthMax} characters`,
    ],
    ['a number', '7', 'be a string'],
    ['null', 'null', 'be a string'],
    ['a list', '["Rex"]', 'be a string'],
  ]
  for (const [title, name, problem] of wrongNames) {
    t.test(`refuses a name: ${title}`, async (t) => {
      const response = await create(`{"name":${name},"categoryId":1}`)
      t.match(response, {
        status: 400,
        body: { code: 'invalid_request', message: `body.name must ${problem}` },
      })
    })
  }

  const unfitNames: [title: string, name: string, what: string][] = [
    ['a NUL', '"a\\u0000b"', 'NUL, \\u0000, at position 10'],
    ['half a surrogate pair', '"a\\ud83d"', 'a lone surrogate, \\ud83d, at position 10'],
    ['a surrogate pair the wrong way round', '"\\ude00\\ud83d"', 'a lone surrogate, \\ude00, at position 9'],
  ]
  for (const [title, name, what] of unfitNames) {
    t.test(`refuses a name: ${title}`, async (t) => {
      const response = await create(`{"name":${name},"categoryId":1}`)
      t.match(response, {
        status: 400,
        body: { code: 'invalid_json', message: `The body contains ${what}.` },
      })
    })
  }

  t.test('refuses fields that a request must not set, and adds nothing', async (t) => {
    const count = () => sql`select count(*)::int as pets from pets`
    const before = await count()
    for (const extra of [{ id: 1 }, { Name: 'Rex' }, { createdAt: 'today' }]) {
      const response = await create({ name: 'Rex', categoryId: 1, ...extra })
      const [field] = Object.keys(extra)
      t.match(response, { status: 400, body: { message: `body.${field} is not a known field` } })
    }
    t.strictSame(await count(), before)
  })

  t.test('refuses a compressed body with Accept-Encoding, as the contract declares', async (t) => {
    const headers = { 'content-encoding': 'gzip' }
    const response = await call('POST', '/pets', { headers, body: { name: 'Rex', categoryId: 3 } })
    t.match(response, { status: 415, body: { code: 'unsupported_media_type' } })
    t.equal(response.headers.get('accept-encoding'), 'identity')
    const declared = contract.operations.get('createPet')?.responses.get('415')?.headers ?? []
    t.ok(declared.some(({ name }) => name.toLowerCase() === 'accept-encoding'))
  })

  t.test('adds one animal for each of many concurrent requests', async (t) => {
    const added = await Promise.all(
      Array.from({ length: 50 }, (_, i) => create({ name: `parallel ${i}`, categoryId: i })),
    )
    t.strictSame(
      added.map(({ body }) => body.name),
      added.map((_, i) => `parallel ${i}`),
    )
    t.equal(new Set(added.map(({ body }) => body.id)).size, 50)
  })

  t.test('sends a Location at the host that the request names', async (t) => {
    const body = '{"name":"Rex","categoryId":3}'
    for (const target of [`${prefix}/pets`, `http://store.example${prefix}/pets`]) {
      const response = await sendRaw(
        origin,
        `POST ${target} HTTP/1.1\r\nHost: store.example\r\nX-Forwarded-Host: evil.example\r\nConnection: close\r\n`,
        `Authorization: ${auth.authorization}\r\nContent-Type: application/json\r\n`,
        `Content-Length: ${body.length}\r\n\r\n${body}`,
      )
      t.match(response, /^HTTP\/1.1 201 /)
      t.match(response, new RegExp(`\r\nlocation: http://store.example${prefix}/pets/\\d+\r\n`, 'i'))
      t.match(response, /\r\ncache-control: no-store\r\n/i, 'which no cache stores for others')
    }
  })
})
