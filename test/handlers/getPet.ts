import t from 'tap'
import { deprecation, status, successorLink } from '../fixtures/facts.js'
import { send, startService } from '../fixtures/service.js'

t.test('reading an animal', async (t) => {
  const { call, sql, base } = await startService(t)
  const [rex] =
    await sql`insert into pets (name, category_id, status) values ('Rex', 3, ${status}) returning id`
  const [misty] = await sql`insert into pets (name, category_id) values ('Misty', -7) returning id`

  t.test('returns it as it was added', async (t) => {
    const response = await call('GET', `/pets/${rex?.id}`)
    t.equal(response.status, 200)
    t.equal(response.text, `{"id":${rex?.id},"name":"Rex","categoryId":3,"status":"${status}"}`)
  })

  t.test('omits a status that was not set', async (t) => {
    const { text } = await call('GET', `/pets/${misty?.id}`)
    t.equal(text, `{"id":${misty?.id},"name":"Misty","categoryId":-7}`)
  })

  t.test('distinguishes adjacent ids beyond 2^53', async (t) => {
    await sql`
      insert into pets (id, name, category_id) overriding system value
      values (9007199254740992, 'even', 1), (9007199254740993, 'odd', 1), (9223372036854775807, 'last', 1)`
    for (const [id, name] of [
      ['9007199254740992', 'even'],
      ['9007199254740993', 'odd'],
      ['9223372036854775807', 'last'],
    ]) {
      t.equal((await call('GET', `/pets/${id}`)).text, `{"id":${id},"name":"${name}","categoryId":1}`)
    }
  })

  for (const id of ['0', '-1', '999999', '9223372036854775806', '-9223372036854775808']) {
    t.test(`responds 404 to the unknown id ${id}`, async (t) => {
      const response = await call('GET', `/pets/${id}`)
      const message = `There is no animal with id ${id}.`
      t.strictSame(response.body, { code: 'pet_not_found', message, status: 404 })
      t.equal(response.status, 404)
    })
  }

  for (const id of [
    '9223372036854775808',
    '-9223372036854775809',
    '1.0',
    '1e0',
    '01',
    '+1',
    '0x1',
    'x',
    '%20',
    '1%00',
  ]) {
    t.test(`refuses the id ${id}`, async (t) => {
      const response = await call('GET', `/pets/${id}`)
      t.match(response, {
        status: 400,
        body: { code: 'invalid_request', message: 'path.petId must be an integer' },
      })
    })
  }

  t.test('does not match a path without an id', async (t) => {
    const { status, body, headers } = await call('GET', '/pets/')
    t.match({ status, body }, { status: 404, body: { code: 'route_not_found', status: 404 } })
    t.notOk(headers.has('deprecation'))
    t.ok(headers.has('x-ratelimit-remaining'))
  })

  t.test('responds to HEAD with the same headers and no body', async (t) => {
    const get = await call('GET', `/pets/${rex?.id}`)
    const head = await call('HEAD', `/pets/${rex?.id}`)
    t.equal(head.status, 200)
    t.equal(head.text, '')
    const names = Object.entries(deprecation).flatMap(([name, value]) => (value === null ? [] : [name]))
    for (const name of ['content-type', 'content-length', ...names]) {
      t.ok(get.headers.has(name))
      t.equal(head.headers.get(name), get.headers.get(name), name)
    }
    t.equal((await call('HEAD', '/pets/999999')).status, 404)
    t.equal((await send(`${base}/pets/${rex?.id}`, 'HEAD')).status, 401)
  })

  t.test('sends the deprecation headers, found or not', async (t) => {
    for (const path of [`/pets/${rex?.id}`, '/pets/999999', '/pets/x']) {
      const { headers } = await call('GET', path)
      for (const [name, value] of Object.entries(deprecation)) t.equal(headers.get(name), value, name)
      t.equal(headers.get('link'), successorLink(base))
    }
  })
})
