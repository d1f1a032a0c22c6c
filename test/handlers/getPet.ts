import t from 'tap'
import { deprecation, status } from '../fixtures/facts.js'
import { send, startService } from '../fixtures/service.js'

t.test('reading an animal', async (t) => {
  const { call, sql, base } = await startService(t)
  const [rex] =
    await sql`insert into pets (name, category_id, status) values ('Rex', 3, ${status}) returning id`
  const [misty] = await sql`insert into pets (name, category_id) values ('Misty', -7) returning id`

  t.test('gives it as it was added', async (t) => {
    const answer = await call('GET', `/pets/${rex?.id}`)
    t.equal(answer.status, 200)
    t.equal(answer.text, `{"id":${rex?.id},"name":"Rex","categoryId":3,"status":"${status}"}`)
  })

  t.test('leaves out a status that was not given', async (t) => {
    const { text } = await call('GET', `/pets/${misty?.id}`)
    t.equal(text, `{"id":${misty?.id},"name":"Misty","categoryId":-7}`)
  })

  t.test('tells neighbours beyond 2^53 apart', async (t) => {
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
    t.test(`finds no animal with id ${id}, and says so`, async (t) => {
      const answer = await call('GET', `/pets/${id}`)
      const message = `There is no animal with id ${id}.`
      t.strictSame(answer.body, { code: 'pet_not_found', message, status: 404 })
      t.equal(answer.status, 404)
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
      const answer = await call('GET', `/pets/${id}`)
      t.match(answer, {
        status: 400,
        body: { code: 'invalid_request', message: 'path.petId must be an integer' },
      })
    })
  }

  t.test('is another path than that of no identifier at all', async (t) => {
    const { status, body, headers } = await call('GET', '/pets/')
    t.match({ status, body }, { status: 404, body: { code: 'route_not_found', status: 404 } })
    t.notOk(headers.has('deprecation'))
    t.ok(headers.has('x-ratelimit-remaining'))
  })

  t.test('answers HEAD with the same headers and no body', async (t) => {
    const get = await call('GET', `/pets/${rex?.id}`)
    const head = await call('HEAD', `/pets/${rex?.id}`)
    t.equal(head.status, 200)
    t.equal(head.text, '')
    const told = Object.entries(deprecation).flatMap(([name, value]) => (value === null ? [] : [name]))
    for (const name of ['content-type', 'content-length', ...told]) {
      t.ok(get.headers.has(name))
      t.equal(head.headers.get(name), get.headers.get(name), name)
    }
    t.equal((await call('HEAD', '/pets/999999')).status, 404)
    t.equal((await send(`${base}/pets/${rex?.id}`, 'HEAD')).status, 401)
  })

  t.test('says that it is deprecated, found or not', async (t) => {
    for (const path of [`/pets/${rex?.id}`, '/pets/999999', '/pets/x']) {
      const { headers } = await call('GET', path)
      for (const [name, value] of Object.entries(deprecation)) t.equal(headers.get(name), value, name)
    }
  })
})
