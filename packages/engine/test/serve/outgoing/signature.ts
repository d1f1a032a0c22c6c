import t from 'tap'
import { signatureOf } from '../../../src/serve/outgoing/signature.js'

// From the tests of the specification's own libraries.
const known = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  at: new Date(1_614_265_330_000),
}
const body = '{"test": 2432232314}'

t.test('the signature is that of Standard Webhooks', async (t) => {
  t.strictSame(signatureOf(body, known), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

t.test('there is one by each secret, of the same content', async (t) => {
  const other = `whsec_${Buffer.alloc(64, 7).toString('base64')}`
  const { 'webhook-signature': both } = signatureOf(body, { ...known, secrets: [...known.secrets, other] })
  const [first, second] = both.split(' ')
  t.equal(first, signatureOf(body, known)['webhook-signature'])
  t.equal(second, signatureOf(body, { ...known, secrets: [other] })['webhook-signature'])
})

const bytes = (length: number) => Buffer.alloc(length, 1).toString('base64')
const secrets: [title: string, secret: string][] = [
  ['without its prefix', bytes(32)],
  ['of too few bytes', `whsec_${bytes(23)}`],
  ['of too many bytes', `whsec_${bytes(65)}`],
  ['that is no base64', 'whsec_not base64, but long enough for a secret'],
  ['in the base64 of URLs', `whsec_${Buffer.alloc(32, 0xff).toString('base64url')}`],
  ['with a line break', `whsec_${bytes(32)}\n`],
  ['that is empty', ''],
]
for (const [title, secret] of secrets) {
  t.test(`a secret ${title} is refused, and not shown`, async (t) => {
    const message = 'a secret of a webhook must be whsec_ and 24 to 64 bytes in base64'
    t.throws(() => signatureOf(body, { ...known, secrets: [secret] }), { message })
  })
}

t.test('no secret is refused', async (t) => {
  const message = 'a webhook needs at least one secret to be signed'
  t.throws(() => signatureOf(body, { ...known, secrets: [] }), { message })
})

for (const id of ['', 'a.b', 'a b', 'a\r\nx: y', 'ü'])
  t.test(`the id ${JSON.stringify(id)} is refused`, async (t) => {
    t.throws(() => signatureOf(body, { ...known, id }), { message: /^the id of a webhook must be letters/ })
  })
