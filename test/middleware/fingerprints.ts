// Stored fingerprints outlive the release that made them. If an edit changes one of these, then after an
// upgrade the service stores an animal twice, or refuses a repetition. Such an edit must be a new version
// beside the old one.

import { readServiceContract } from 'contract-service/internal/auth/plans'
import { contractFile } from 'contract-service/internal/lib/paths'
import t from 'tap'
import { parseDocument } from 'yaml'
import { handlers } from '../../generated/handlers.js'
import { contractText, startService } from '../fixtures/service.js'

const int64 = { type: 'integer', format: 'int64' }
const parameters = [
  { name: 'X-Tenant', in: 'header', schema: int64 },
  { name: 'region', in: 'cookie', schema: { type: 'string' } },
  { name: 'shop', in: 'query', schema: { ...int64, default: 1 } },
  { name: 'tags', in: 'query', explode: false, schema: { type: 'array', items: { type: 'string' } } },
]

const plain = '{"name":"Rex","categoryId":1}'

// Fingerprints of version 1, as release 1.0.0 makes them.
const golden: readonly (readonly [fingerprint: string, body: string, query?: string, headers?: object])[] = [
  ['d2623fa4d719b2ee49f53e3b9c9c41cffe62b2d18b24597f0d23bb6c07d25a9d', plain],
  [
    'd2623fa4d719b2ee49f53e3b9c9c41cffe62b2d18b24597f0d23bb6c07d25a9d',
    '{ "categoryId": 1.0, "name": "R\\u0065x" }',
  ],
  ['97ca0ad94c611291702d8bb80a78ce9b5bad1da5637b62d10cf155dd88663680', '{"name":"Rex","categoryId":2}'],
  [
    '8c1329611f02122b33b3383a566f21a4aa40268bb6f830f91164d2d3631997be',
    '{"name":"Rex","categoryId":9223372036854775807}',
  ],
  [
    '24121a5220cde7b677c3f199d24e66f95932eb8095dce8fb7f750e88a41ca962',
    '{"name":"Rex","categoryId":-9223372036854775808,"status":"sold"}',
  ],
  [
    '189320a7ddb2b7a8b3307640224f5d304785de1aa7e3d284b9a03fdeef11b87e',
    '{"name":"ünï 🐕 \\"quoted\\" \\u2028","categoryId":1}',
  ],
  ['d2623fa4d719b2ee49f53e3b9c9c41cffe62b2d18b24597f0d23bb6c07d25a9d', plain, '?shop=1'],
  ['c422e62157c8c4623514030052369ff71a1ab94a075843230f26dddc64c8a7db', plain, '?shop=9007199254740993'],
  ['c61c2ea829d0ab187d0cf203c64f3914036ceacb2c5d45bebf8c56409d7a28f9', plain, '?tags=a,b'],
  ['4657bdd6122cc95ed5d138c5d72b5941b238b42a0e7fed5962be3081e4ab652f', plain, '?tags=a%2Cb'],
  [
    '29f1f7991e7517ad8cdfa0d6203fe37c9d9067aae7e24f13767198f61909522c',
    plain,
    '',
    { 'x-tenant': '9007199254740993' },
  ],
  [
    'd592e642d4038d88f351ccfb547d185155be2d3d8b7cde853fc4652627cb29a4',
    plain,
    '',
    { cookie: 'other=1; region=eu' },
  ],
  [
    'beae69f76fc4dd1b09046f811707717486234cd9d705b686f9f58716cab492d6',
    plain,
    '?tags=a&shop=2',
    { cookie: 'region=', 'x-tenant': '0', 'x-other': '1' },
  ],
]

t.test('the fingerprints of version 1 do not change', async (t) => {
  const document = parseDocument(contractText)
  for (const each of parameters)
    document.addIn(['paths', '/pets', 'post', 'parameters'], document.createNode(each))
  const edited = await readServiceContract(contractFile, async () => document.toString())
  const service = await startService(t, { contract: edited, handlers })
  for (const [i, [, body, query = '', headers = {}]] of golden.entries()) {
    const sent = { body, headers: { ...headers, 'idempotency-key': `golden-${i}` } }
    t.equal((await service.call('POST', `/pets${query}`, sent)).status, 201)
  }
  const rows = await service.sql<{ key: string; fingerprint: string; version: number }[]>`
    select idempotency_key as key, encode(fingerprint, 'hex') as fingerprint, fingerprint_version as version
    from idempotent_answers
    order by split_part(idempotency_key, '-', 2)::int`
  t.strictSame(
    rows.map(({ fingerprint, version }) => [version, fingerprint]),
    golden.map(([fingerprint]) => [1, fingerprint]),
  )
})

t.test('a fingerprint of a later version is not taken for another request', async (t) => {
  const service = await startService(t)
  const create = () =>
    service.call('POST', '/pets', { body: plain, headers: { 'idempotency-key': 'rolled-back' } })
  t.equal((await create()).status, 201)
  await service.sql`update idempotent_answers set fingerprint_version = 32767`
  const { status, body } = await create()
  t.match({ status, body }, { status: 422, body: { code: 'idempotency_key_incomparable', status: 422 } })
  t.match(body.message, /cannot tell whether it was the same/)
  await service.sql`update idempotent_answers set fingerprint_version = 1`
  t.equal((await create()).headers.get('idempotent-replayed'), 'true')
})

t.test('a response that the release before stored, which knew no version, is found', async (t) => {
  const { sql, call } = await startService(t)
  const create = () => call('POST', '/pets', { body: plain, headers: { 'idempotency-key': 'older' } })
  const first = await create()
  await sql`create table kept as select * from idempotent_answers`
  await sql`delete from idempotent_answers`
  await sql`
    insert into idempotent_answers (api_key_id, idempotency_key, fingerprint, status, headers, body)
    select api_key_id, idempotency_key, fingerprint, status, headers, body from kept`
  const again = await create()
  t.match(again, { status: 201, text: first.text })
  t.equal(again.headers.get('idempotent-replayed'), 'true')
})
