import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { handlers } from '../../generated/handlers.js'
import { createShare } from '../../src/contract/sharing.js'
import { ApiError } from '../../src/errors.js'
import { startService } from '../fixtures/service.js'

t.test(
  'who asks for the same in one turn is told by one run, which begins when all have asked',
  async (t) => {
    const share = createShare<string>()
    const runs: string[] = []
    const run = (key: string) => async () => {
      runs.push(key)
      return `of ${key}`
    }
    const answers = ['a', 'b', 'a', 'a'].map((key) => share(key, run(key)))
    t.strictSame(runs, [])
    t.strictSame(await Promise.all(answers), ['of a', 'of b', 'of a', 'of a'])
    t.strictSame(runs, ['a', 'b'])
  },
)

t.test('who asks once a run has begun is told by another', async (t) => {
  const share = createShare<number>()
  const ends: (() => void)[] = []
  let runs = 0
  const run = () => {
    const count = ++runs
    return new Promise<number>((resolve) => ends.push(() => resolve(count)))
  }
  const first = share('a', run)
  await setImmediate()
  t.equal(runs, 1)
  const second = share('a', run)
  await setImmediate()
  for (const end of ends) end()
  t.strictSame(await Promise.all([first, second]), [1, 2])
})

t.test('a failure is told to all, and not remembered', async (t) => {
  const share = createShare<string>()
  const failing = () => Promise.reject(new Error('no'))
  const answers = await Promise.allSettled([share('a', failing), share('a', failing)])
  t.match(answers, [
    { status: 'rejected', reason: { message: 'no' } },
    { status: 'rejected', reason: { message: 'no' } },
  ])
  t.equal(await share('a', async () => 'yes'), 'yes')
})

t.test('requests', async (t) => {
  const runs = { listPets: 0, createPet: 0 }
  let refusal: Error | undefined
  const counting = {
    listPets: async () => {
      runs.listPets++
      if (refusal) throw refusal
      return {
        status: 200,
        headers: { Link: '</v1/pets>; rel="next"' },
        body: [{ id: 1n, name: 'Rex', categoryId: 3n }],
      }
    },
    createPet: async () => {
      runs.createPet++
      return {
        status: 201,
        headers: { Location: '/v1/pets/1' },
        body: { id: 1n, name: 'Rex', categoryId: 3n },
      }
    },
  }
  const { app, auth, call, log } = await startService(t, {
    handlers: { ...handlers, ...counting } as typeof handlers,
  })
  t.beforeEach(() => {
    runs.listPets = 0
    refusal = undefined
    log.length = 0
  })
  await call('GET', '/pets') // the key is known from now on
  // Injected, they are all there in one turn.
  const inject = (url: string, method: 'GET' | 'HEAD' | 'POST' = 'GET') =>
    app.inject({
      method,
      url: `/v1${url}`,
      headers: auth,
      ...(method === 'POST' && { payload: { name: 'Rex', categoryId: 3 } }),
    })

  t.test('for one URL at one time are handled once, and each is a request of its own', async (t) => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => inject('/pets')))
    t.equal(runs.listPets, 1)
    for (const { statusCode, body, headers } of answers) {
      t.equal(statusCode, 200)
      t.equal(body, '[{"id":1,"name":"Rex","categoryId":3}]')
      t.equal(headers.link, '</v1/pets>; rel="next"')
      t.equal(headers['content-length'], body.length.toString())
    }
    t.equal(new Set(answers.map(({ headers }) => headers['x-request-id'])).size, 20)
    t.equal(new Set(answers.map(({ headers }) => headers['x-ratelimit-remaining'])).size, 20)
    t.equal(log.filter(({ msg }) => msg === 'request').length, 20)
  })

  t.test('for several URLs are handled apart', async (t) => {
    await Promise.all(['/pets', '/pets?limit=5', '/pets?limit=6', '/pets'].map((url) => inject(url)))
    t.equal(runs.listPets, 3)
  })

  t.test('one after the other are handled each', async (t) => {
    for (let i = 0; i < 3; i++) await inject('/pets')
    t.equal(runs.listPets, 3)
  })

  t.test('are told of a failure each, with a line in the log', async (t) => {
    refusal = new Error('password=hunter2')
    const answers = await Promise.all(Array.from({ length: 5 }, () => inject('/pets')))
    t.equal(runs.listPets, 1)
    t.strictSame(
      answers.map(({ statusCode }) => statusCode),
      [500, 500, 500, 500, 500],
    )
    t.equal(log.filter(({ msg }) => msg === 'request failed').length, 5)
  })

  t.test('are refused each', async (t) => {
    refusal = new ApiError('invalid_request', 'no')
    const answers = await Promise.all(Array.from({ length: 5 }, () => inject('/pets')))
    t.strictSame(
      answers.map((answer) => answer.json().code),
      Array.from({ length: 5 }, () => 'invalid_request'),
    )
  })

  t.test('of GET and HEAD have one answer, with a body and without', async (t) => {
    const [get, head] = await Promise.all([inject('/pets'), inject('/pets', 'HEAD')])
    t.equal(head.statusCode, 200)
    t.equal(head.body, '')
    t.equal(head.headers['content-length'], get.headers['content-length'])
  })

  t.test('that change something are never shared', async (t) => {
    await Promise.all(Array.from({ length: 7 }, () => inject('/pets', 'POST')))
    t.equal(runs.createPet, 7)
  })
})

t.test('a caller finds in a list what he has added, however many ask for it', async (t) => {
  const { call } = await startService(t)
  const caller = async (i: number) => {
    for (let round = 0; round < 5; round++) {
      const { body: pet } = await call('POST', '/pets', { body: { name: `${i}`, categoryId: round } })
      const { body: pets } = await call('GET', '/pets?limit=100')
      t.ok(
        pets.some(({ id }: { id: number }) => id === pet.id),
        `${pet.id} is there`,
      )
    }
  }
  await Promise.all(Array.from({ length: 16 }, (_, i) => caller(i)))
})
