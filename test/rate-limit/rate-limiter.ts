import { type Clocks, stopClocks } from 'contract-testing/clocks'
import t from 'tap'
import { countBy } from '../fixtures/count.js'
import { customPlan, fixedPlan, prefix, prefixEncoded } from '../fixtures/facts.js'
import { type Answer, contract, type Service, send, sendRaw, startService } from '../fixtures/service.js'

const { plans, anonymous, ban } = contract.rateLimits
const second = 1000
const minute = 60 * second
const day = 24 * 60 * minute

async function keyOf(service: Service, perMinute: number, perDay: number) {
  const { key, id } = await service.createKey({ plan: customPlan, perMinute, perDay })
  const call = () => send(`${service.base}/pets`, 'GET', { authorization: `Bearer ${key}` })
  const calls = async (count: number) => {
    const responses: Answer[] = []
    for (let i = 0; i < count; i++) responses.push(await call())
    return responses
  }
  // Calls once a second for `count` seconds; each call gets a 429.
  const keepCalling = async (count: number, clock: Clocks) => {
    for (let i = 0; i < count; i++) {
      clock.advance(second)
      await call()
    }
  }
  return { key, id, call, calls, keepCalling }
}

function limitHeaders({ headers }: Answer) {
  const number = (name: string) => (headers.has(name) ? Number(headers.get(name)) : undefined)
  return {
    limit: number('x-ratelimit-limit'),
    remaining: number('x-ratelimit-remaining'),
    reset: number('x-ratelimit-reset'),
    retryAfter: number('retry-after'),
  }
}

function statuses(responses: readonly Answer[]) {
  return countBy(responses, ({ status, body }) => (status === 429 ? body.code : String(status)))
}

t.test(
  'of simultaneous requests with a new key exactly the quota is admitted, the others get 429 with every header',
  async (t) => {
    stopClocks(t)
    const service = await startService(t, { env: { WORK_MAX: '10000' } })
    const { perMinute } = fixedPlan
    const tooMany = 4 * perMinute
    const { key } = await service.createKey({ plan: fixedPlan.name, perMinute: null, perDay: null })
    const headers = { authorization: `Bearer ${key}` }
    const responses = await Promise.all(
      Array.from({ length: perMinute + tooMany }, () => send(`${service.base}/pets`, 'GET', headers)),
    )
    t.strictSame(statuses(responses), { 200: perMinute, rate_limit_exceeded: tooMany })
    const now = Date.now() / 1000
    for (const response of responses) {
      const { limit, remaining = -1, reset = 0, retryAfter } = limitHeaders(response)
      t.equal(limit, perMinute)
      t.ok(remaining >= 0 && remaining < perMinute)
      t.ok(reset > now && reset <= now + 62, 'the reset is within the minute')
      if (response.status === 429) t.ok(Number(retryAfter) >= 1 && Number(retryAfter) <= 60)
    }
  },
)

t.test('RateLimit and RateLimit-Policy have every window of the caller', async (t) => {
  const clock = stopClocks(t)
  const service = await startService(t)
  const fieldsOf = ({ headers }: Answer) => [headers.get('ratelimit-policy'), headers.get('ratelimit')]
  const policy = '"minute";q=2;w=60, "day";q=1000;w=86400'
  const { call, keepCalling } = await keyOf(service, 2, 1_000)
  t.strictSame(fieldsOf(await call()), [policy, '"minute";r=1;t=60, "day";r=999;t=86400'])
  clock.advance(10 * second)
  t.strictSame(fieldsOf(await call()), [policy, '"minute";r=0;t=50, "day";r=998;t=86390'])
  const refused = await call()
  t.match(refused, { status: 429, body: { code: 'rate_limit_exceeded' } })
  t.strictSame(fieldsOf(refused), [policy, '"minute";r=0;t=50, "day";r=998;t=86390'])
  await keepCalling(ban.rejections, clock)
  const banned = await call()
  const seconds = limitHeaders(banned).retryAfter
  t.match(banned, { status: 429, body: { code: 'key_banned' } })
  t.strictSame(fieldsOf(banned), [policy, `"minute";r=0;t=${seconds}, "day";r=0;t=${seconds}`])

  const { perMinute } = anonymous
  const unknown = await send(`${service.base}/pets`)
  t.equal(unknown.status, 401)
  t.strictSame(fieldsOf(unknown), [`"minute";q=${perMinute};w=60`, `"minute";r=${perMinute - 1};t=60`])
})

t.test('each plan of the contract has its quotas', async (t) => {
  const service = await startService(t)
  for (const [plan, quotas] of plans) {
    if (quotas === 'custom') continue
    const { key } = await service.createKey({ plan, perMinute: null, perDay: null })
    const response = await send(`${service.base}/pets`, 'GET', { authorization: `Bearer ${key}` })
    t.match(limitHeaders(response), { limit: quotas.perMinute, remaining: quotas.perMinute - 1 }, plan)
  }
})

t.test('the minute window', async (t) => {
  const clock = stopClocks(t)
  const service = await startService(t)
  const { call, calls } = await keyOf(service, 3, 100)
  const start = clock.now()

  t.test('reports what remains', async (t) => {
    for (const remaining of [2, 1, 0]) {
      t.strictSame(limitHeaders(await call()), {
        limit: 3,
        remaining,
        reset: (start + minute) / second,
        retryAfter: undefined,
      })
      clock.advance(10 * second)
    }
  })

  t.test('rejects further requests until its reset', async (t) => {
    const refused = await call()
    t.match(refused, {
      status: 429,
      body: {
        code: 'rate_limit_exceeded',
        message: "This minute's requests are used up. Try again in 30 seconds.",
        status: 429,
      },
    })
    t.strictSame(limitHeaders(refused), {
      limit: 3,
      remaining: 0,
      reset: (start + minute) / second,
      retryAfter: 30,
    })
  })

  t.test('Retry-After is never too short: a client that waits exactly that long is admitted', async (t) => {
    clock.advance(29 * second + 1)
    t.equal(limitHeaders(await call()).retryAfter, 1, '999 ms, rounded up')
    clock.advance(999)
    t.strictSame(statuses(await calls(4)), { 200: 3, rate_limit_exceeded: 1 })
  })
})

t.test('the day window', async (t) => {
  const clock = stopClocks(t)
  const service = await startService(t)

  t.test('is reported when it has fewer or as many requests remaining', async (t) => {
    const { call } = await keyOf(service, 5, 3)
    t.match(limitHeaders(await call()), { limit: 3, remaining: 2, reset: (clock.now() + day) / second })
    const even = await keyOf(service, 3, 3)
    t.match(limitHeaders(await even.call()), { limit: 3, reset: (clock.now() + day) / second })
  })

  t.test('does not count requests that the minute rejects', async (t) => {
    const { calls } = await keyOf(service, 2, 4)
    t.strictSame(statuses(await calls(10)), { 200: 2, rate_limit_exceeded: 8 })
    clock.advance(minute)
    t.strictSame(
      statuses(await calls(10)),
      { 200: 2, rate_limit_exceeded: 8 },
      'two requests of the day remained',
    )
  })

  t.test('reports its reset when the minute is used up too', async (t) => {
    const { calls, call } = await keyOf(service, 2, 2)
    const start = clock.now()
    await calls(2)
    clock.advance(30 * second)
    const refused = await call()
    t.strictSame(limitHeaders(refused), {
      limit: 2,
      remaining: 0,
      reset: (start + day) / second,
      retryAfter: (day - 30 * second) / second,
    })
    t.match(refused.body.message, /^This day's requests/)
  })

  t.test(
    'its rejections do not count in the minute: a client that waits for Retry-After is admitted',
    async (t) => {
      const { calls, call } = await keyOf(service, 2, 2)
      await calls(2)
      clock.advance(day - second)
      t.strictSame(statuses(await calls(50)), { rate_limit_exceeded: 50 })
      clock.advance(Number(limitHeaders(await call()).retryAfter) * second)
      t.equal((await call()).status, 200)
    },
  )
})

t.test('a ban', async (t) => {
  const clock = stopClocks(t)
  const service = await startService(t)
  const { id, call, calls, keepCalling } = await keyOf(service, 1, 1_000)
  const other = await keyOf(service, 10, 1_000)
  await calls(100)
  await keepCalling(ban.rejections - 1, clock)
  await calls(100)
  t.notMatch(service.log, [{ msg: 'key banned' }], 'the tolerated rejections start no ban')

  clock.advance(second)
  t.test(
    'starts with a rejection in one more second, is logged once, and reports when it ends',
    async (t) => {
      const refused = await call()
      t.match(refused, { status: 429, body: { code: 'key_banned' } })
      t.strictSame(limitHeaders(refused), {
        limit: 1,
        remaining: 0,
        reset: (clock.now() + ban.banSeconds * second) / second,
        retryAfter: ban.banSeconds,
      })
      await calls(3)
      const lines = service.log.filter(({ msg }) => msg === 'key banned')
      t.equal(lines.length, 1)
      t.match(lines[0], { level: 40, keyId: String(id) })
    },
  )

  t.test('outlasts the minute, and affects no other key', async (t) => {
    clock.advance(minute)
    t.equal((await call()).body.code, 'key_banned')
    t.equal((await other.call()).status, 200)
  })

  t.test('ends by itself, even if the key keeps calling', async (t) => {
    const { retryAfter } = limitHeaders((await calls(20)).at(-1) as Answer)
    t.equal(retryAfter, ban.banSeconds - 60)
    clock.advance(Number(retryAfter) * second)
    t.equal((await call()).status, 200)
  })
})

for (const [title, hours] of [
  ['back', -1],
  ['forward', 1],
] as const) {
  t.test(
    `setting the wall clock ${title} by an hour moves no window, only the date of its reset`,
    async (t) => {
      const clock = stopClocks(t)
      const service = await startService(t)
      const { call, calls } = await keyOf(service, 3, 1_000)
      const guess = () => send(`${service.base}/pets`)
      const banned = await keyOf(service, 1, 1_000)
      await banned.call()
      await banned.keepCalling(1 + ban.rejections, clock)
      t.match(limitHeaders(await call()), { remaining: 2, reset: (clock.now() + minute) / second })
      t.match(limitHeaders(await guess()), { remaining: anonymous.perMinute - 1 })
      clock.advance(10 * second)
      clock.setWallClock(60 * hours * minute)

      const reset = (clock.now() + 50 * second) / second
      t.match(limitHeaders(await call()), { remaining: 1, reset })
      t.match(limitHeaders(await guess()), { remaining: anonymous.perMinute - 2, reset })
      t.match(statuses(await calls(2)), { 200: 1, rate_limit_exceeded: 1 })
      t.match(limitHeaders(await call()), { reset, retryAfter: 50 })
      t.match(await banned.call(), { status: 429, body: { code: 'key_banned' } })
      t.match(limitHeaders(await banned.call()), { retryAfter: ban.banSeconds - 10 })
      clock.advance(50 * second)
      t.equal((await call()).status, 200, 'it resets as before')
      clock.advance(ban.banSeconds * second - minute)
      t.equal((await banned.call()).status, 200)
    },
  )
}

t.test('Retry-After of a ban covers a used-up day', async (t) => {
  const clock = stopClocks(t)
  const service = await startService(t)
  const { call, keepCalling } = await keyOf(service, 1, 1)
  await call()
  await keepCalling(1 + ban.rejections, clock)
  const refused = await call()
  t.equal(refused.body.code, 'key_banned')
  t.equal(limitHeaders(refused).retryAfter, day / second - 1 - ban.rejections)
  clock.advance(day)
  t.equal((await call()).status, 200)
})

t.test('requests without a valid key', async (t) => {
  const clock = stopClocks(t)
  const service = await startService(t, { env: { TRUST_PROXY: 'loopback' } })
  const guess = (address: string, authorization = 'Bearer ask_guess') =>
    send(`${service.base}/pets`, 'GET', { authorization, 'x-forwarded-for': address })
  const exhaust = async (address: string) => {
    for (let i = 0; i < anonymous.perMinute; i++) await guess(address)
  }

  t.test('get the quota of their address with the 401', async (t) => {
    const response = await guess('192.0.2.1')
    t.equal(response.status, 401)
    t.match(limitHeaders(response), { limit: anonymous.perMinute, remaining: anonymous.perMinute - 1 })
  })

  t.test('get 429 beyond it, by address, without affecting valid keys from there', async (t) => {
    t.equal((await guess('192.0.2.2', service.auth.authorization)).status, 200)
    await exhaust('192.0.2.2')
    const refused = await guess('192.0.2.2')
    t.match(refused, { status: 429, body: { code: 'unauthorized_limit_exceeded' } })
    t.match(limitHeaders(refused), { limit: anonymous.perMinute, remaining: 0, retryAfter: 60 })
    t.equal((await guess('192.0.2.3')).status, 401, 'another address has its own quota')
    t.equal((await guess('192.0.2.2', service.auth.authorization)).status, 200)
    clock.advance(minute)
    t.equal((await guess('192.0.2.2')).status, 401, 'the quota resets')
  })

  t.test('share the quota of an IPv6 /64, and of an IPv4 address in either form', async (t) => {
    await exhaust('2001:db8:1:2::1')
    t.equal((await guess('2001:db8:1:2:ffff::9')).status, 429)
    t.equal((await guess('2001:db8:1:3::1')).status, 401)
    await exhaust('::ffff:192.0.2.4')
    t.equal((await guess('192.0.2.4')).status, 429)
  })

  t.test('share the quota of an address whatever port a proxy appends', async (t) => {
    await exhaust('192.0.2.5')
    t.equal((await guess('192.0.2.5:40000')).status, 429)
    await exhaust('2001:db8:1:4::1')
    t.equal((await guess('[2001:db8:1:4::1]:40000')).status, 429)
  })

  t.test('share the quota of their proxy if it reports no address', async (t) => {
    for (let i = 0; i < anonymous.perMinute; i++) await guess(`${i}${'x'.repeat(10_000)}`)
    t.equal((await send(`${service.base}/pets`)).status, 429)
  })
})

t.test('a forged X-Forwarded-For has no effect when no proxy is trusted', async (t) => {
  stopClocks(t)
  const service = await startService(t)
  for (let i = 0; i < anonymous.perMinute; i++) {
    await send(`${service.base}/pets`, 'GET', { 'x-forwarded-for': `192.0.2.${i}` })
  }
  t.equal((await send(`${service.base}/pets`, 'GET', { 'x-forwarded-for': '198.51.100.1' })).status, 429)
})

t.test('every response under the prefix has the headers', async (t) => {
  const service = await startService(t)
  const { base, auth, origin, sql } = service
  const json = { ...auth, 'content-type': 'application/json' }
  const cases: [
    status: number,
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: string,
  ][] = [
    [200, 'GET', '/pets', auth],
    [201, 'POST', '/pets', json, '{"name":"Rex","categoryId":1}'],
    [400, 'GET', '/pets?limit=0', auth],
    [400, 'POST', '/pets', json, '{'],
    [400, 'GET', '/%zz', auth],
    [401, 'GET', '/pets', {}],
    [404, 'GET', '/pets/99', auth],
    [404, 'GET', '/nothing', auth],
    [404, 'GET', '/nothing', {}],
    [405, 'DELETE', '/pets', auth],
    [413, 'POST', '/pets', json, ' '.repeat(contract.limits.body + 1)],
    [414, 'GET', `/pets?name=${'a'.repeat(contract.limits.url)}`, auth],
    [415, 'POST', '/pets', { ...auth, 'content-type': 'text/plain' }, 'x'],
  ]
  for (const [status, method, path, headers, body] of cases) {
    const response = await send(`${base}${path}`, method, headers, body)
    const title = `${status} ${method} ${path.slice(0, 20)}`
    t.equal(response.status, status, title)
    const limit = headers.authorization ? 1_000_000 : anonymous.perMinute
    t.match(limitHeaders(response), { limit, remaining: Number, reset: Number, retryAfter: undefined }, title)
  }
  const raw = await sendRaw(
    origin,
    `GET ${service.app.prefix}${prefix}/pets HTTP/1.1\r\nConnection: close\r\n\r\n`,
  )
  t.match(raw, new RegExp(`^HTTP/1.1 400 [^]*x-ratelimit-limit: ${anonymous.perMinute}\r`), 'no host')
  t.equal(
    (await send(`${origin}/healthz`)).headers.get('x-ratelimit-limit'),
    null,
    'other responses have none',
  )

  await sql`drop table pets`
  const fault = await send(`${base}/pets`, 'GET', auth)
  t.match(fault, { status: 503 })
  t.match(limitHeaders(fault), { limit: 1_000_000, remaining: Number })
})

t.test('a percent-encoded path is counted too', async (t) => {
  const service = await startService(t)
  const response = await send(`${service.origin}${prefixEncoded}/pets`, 'GET', service.auth)
  if (response.status === 200) t.match(limitHeaders(response), { limit: 1_000_000 })
  else t.equal(response.status, 404)
})

t.test('a failed key look-up is an error with the headers, and counts in no window', async (t) => {
  const service = await startService(t)
  const { key } = await service.createKey()
  const headers = { authorization: `Bearer ${key}` }
  await service.sql`alter table api_keys rename to away`
  const fault = await send(`${service.base}/pets`, 'GET', headers)
  t.equal(fault.status, 503)
  t.match(limitHeaders(fault), { limit: anonymous.perMinute, remaining: anonymous.perMinute })
  t.equal(
    (await send(`${service.base}/pets`, 'GET', service.auth)).status,
    503,
    'a key that was not looked up before',
  )
  await service.sql`alter table away rename to api_keys`
  t.equal((await send(`${service.base}/pets`, 'GET', headers)).status, 200)
})

t.test('a key whose plan is no longer in the contract gets 503', async (t) => {
  const service = await startService(t)
  const { key } = await service.createKey({ plan: 'gold', perMinute: null, perDay: null })
  const response = await send(`${service.base}/pets`, 'GET', { authorization: `Bearer ${key}` })
  t.match(response, { status: 503, body: { code: 'unavailable' } })
  t.match(JSON.stringify(service.log), /has the plan gold, which gives it no quotas/)
})

t.test('changing a number in the contract changes the server', async (t) => {
  const edited = {
    ...contract,
    rateLimits: { ...contract.rateLimits, plans: new Map([[fixedPlan.name, { perMinute: 2, perDay: 9 }]]) },
  }
  const service = await startService(t, { contract: edited })
  const { key } = await service.createKey({ plan: fixedPlan.name, perMinute: null, perDay: null })
  const call = () => send(`${service.base}/pets`, 'GET', { authorization: `Bearer ${key}` })
  t.strictSame(statuses([await call(), await call(), await call()]), { 200: 2, rate_limit_exceeded: 1 })
})

t.test('a rejected request does not reach the handler or the database', async (t) => {
  const service = await startService(t)
  const { call, key } = await keyOf(service, 1, 10)
  await call()
  const refused = await send(
    `${service.base}/pets`,
    'POST',
    { authorization: `Bearer ${key}` },
    { name: 'Rex', categoryId: 1 },
  )
  t.equal(refused.status, 429)
  t.match(await service.sql`select count(*)::int as pets from pets`, [{ pets: 0 }])
})
