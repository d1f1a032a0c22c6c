// Invalid tokens: the attacks listed in RFC 8725, section 3, and claims that violate RFC 7519.

import { createHmac, generateKeyPairSync, webcrypto } from 'node:crypto'
import type { RequestError } from 'contract-engine'
import { base64url, type CryptoKey, exportSPKI, importJWK, UnsecuredJWT } from 'jose'
import t from 'tap'
import { Issuer } from '../../src/auth/issuer.js'
import { algorithms, type Expectations, verifyToken } from '../../src/auth/verify-token.js'
import { silent } from '../fixtures/cluster.js'
import {
  audience,
  createSigningKey,
  type FakeIssuer,
  type SigningKey,
  startIssuer,
} from '../fixtures/issuer.js'

const { subtle } = webcrypto

const expected: Expectations = { audience: [audience], algorithms, clockTolerance: 5, type: undefined }

/** Resolves with the subject of a token, or its refusal. */
async function verify(
  token: string,
  { url }: FakeIssuer,
  changes: Partial<Expectations> = {},
): Promise<string> {
  try {
    return (await verifyToken(token, new Issuer(url, silent), { ...expected, ...changes })).sub
  } catch (error) {
    const { code, statusCode, message } = error as RequestError
    return `${statusCode} ${code}: ${message}`
  }
}

const wrong = '401 invalid_credentials: The token is malformed, not signed by the issuer, or lacks a claim.'
const expired = '401 invalid_credentials: The token has expired.'
const early = '401 invalid_credentials: The token is not valid yet.'
const notOurs = '401 invalid_credentials: The token is for another audience.'

t.test('a token of the issuer, for the service, is verified', async (t) => {
  const issuer = await startIssuer(t)
  t.equal(await verify(await issuer.token(), issuer), 'ann')
  t.equal(
    await verify(await issuer.token({ aud: ['other', audience] }), issuer),
    'ann',
    'for several audiences',
  )
  t.equal(
    await verify(await issuer.token({ aud: 'b' }), issuer, { audience: ['a', 'b'] }),
    'ann',
    'one of several',
  )
})

for (const alg of algorithms) {
  t.test(`tokens may be signed by ${alg}`, async (t) => {
    const issuer = await startIssuer(t)
    issuer.keys = [await createSigningKey('it', alg)]
    const token = await issuer.token()
    t.equal(await verify(token, issuer), 'ann')
    const others = algorithms.filter((each) => each !== alg)
    t.equal(await verify(token, issuer, { algorithms: others }), wrong, 'unless it is not allowed')
  })
}

const now = () => Math.floor(Date.now() / 1000)

const claims: [title: string, changes: () => object, refusal: string][] = [
  ['that has expired', () => ({ exp: now() - 6 }), expired],
  ['that never expires', () => ({ exp: undefined }), wrong],
  ['whose end is text', () => ({ exp: String(now() + 60) }), wrong],
  ['that is not valid yet', () => ({ nbf: now() + 60 }), early],
  ['whose start is text', () => ({ nbf: 'now' }), early],
  ['of another issuer', () => ({ iss: 'https://other.example' }), wrong],
  ['of an issuer with a slash behind it', () => ({ iss: 'http://127.0.0.1/' }), wrong],
  ['of no issuer', () => ({ iss: undefined }), wrong],
  ['for another audience', () => ({ aud: 'https://other.example' }), notOurs],
  ['for other audiences', () => ({ aud: ['https://other.example', `${audience}/`] }), notOurs],
  ['for nobody', () => ({ aud: [] }), notOurs],
  ['without an audience', () => ({ aud: undefined }), notOurs],
  ['without a subject', () => ({ sub: undefined }), wrong],
  ['with an empty subject', () => ({ sub: '' }), wrong],
  ['with a number as the subject', () => ({ sub: 7 }), wrong],
  ['with a NUL in the subject', () => ({ sub: 'a\0' }), wrong],
  ['with a line break in the subject', () => ({ sub: 'a\nb' }), wrong],
  ['with half a character in the subject', () => ({ sub: 'a\ud800' }), wrong],
  ['with a subject of 256 characters', () => ({ sub: 'a'.repeat(256) }), wrong],
]

t.test('tokens with other claims are refused', async (t) => {
  const issuer = await startIssuer(t)
  for (const [title, changes, refusal] of claims)
    t.equal(await verify(await issuer.token(changes()), issuer), refusal, `a token ${title}`)
  t.equal(
    await verify(await issuer.token({ exp: now() - 1 }), issuer),
    'ann',
    'clocks may differ by a little',
  )
  t.equal(await verify(await issuer.token({ nbf: now() + 4 }), issuer), 'ann')
  t.equal(await verify(await issuer.token({ sub: 'a'.repeat(255) }), issuer), 'a'.repeat(255))
})

// JSON.parse turns 1e400 into infinity. No signer writes it, so these tokens are signed as text.
t.test('tokens with times without an end, and other claims that no RFC allows, are refused', async (t) => {
  const issuer = await startIssuer(t)
  const [key] = issuer.keys as [SigningKey]
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const sign = (changes: object, text = '') => {
    const claims = JSON.stringify(issuer.claims(changes)).replace('"TEXT"', text)
    return signBytes(key, { alg: 'ES256', kid: key.kid }, claims)
  }
  for (const [title, changes, text] of [
    ['an end of 1e400', { exp: 'TEXT' }, '1e400'],
    ['an end of -1e400', { exp: 'TEXT' }, '-1e400'],
    ['a start of -1e400', { nbf: 'TEXT' }, '-1e400'],
    ['a time of 1e400', { iat: 'TEXT' }, '1e400'],
    ['a time of -1e400', { iat: 'TEXT' }, '-1e400'],
    ['an end in a list', { exp: 'TEXT' }, `[${now() + 60}]`],
    ['an end of null', { exp: 'TEXT' }, 'null'],
    ['a number among the audiences', { aud: [audience, 5] }, ''],
    ['null among the audiences', { aud: [null, audience] }, ''],
    ['a list among the audiences', { aud: [audience, [audience]] }, ''],
    ['claims nested 101 deep', { a: 'TEXT' }, nested(100)],
    ['claims nested 4,000 deep', { a: 'TEXT' }, nested(4_000)],
    ['claims nested 100,000 deep', { a: 'TEXT' }, nested(100_000)],
    ['a deep end', { exp: 'TEXT' }, nested(4_000)],
    ['a deep audience', { aud: 'TEXT' }, `["${audience}",${nested(4_000)}]`],
    ['a deep subject', { sub: 'TEXT' }, nested(4_000)],
    ['a deep issuer', { iss: 'TEXT' }, nested(4_000)],
  ] as const)
    t.match(
      await verify(await sign(changes, text), issuer),
      /^401 invalid_credentials/,
      `a token with ${title}`,
    )
  t.equal(await verify(await sign({ a: 'TEXT' }, nested(99)), issuer), 'ann', 'nested 100 deep')
  t.equal(await verify(await sign({ exp: 1e300, nbf: 0, iat: 0.5 }), issuer), 'ann')
})

t.test('no other value than a text is a type', async (t) => {
  const issuer = await startIssuer(t)
  const [key] = issuer.keys as [SigningKey]
  const claims = JSON.stringify(issuer.claims())
  for (const typ of [['at+jwt'], ['JWT'], [['JWT']], { toString: 'JWT' }, 5, null, true, []])
    for (const type of [undefined, 'at+jwt', '5', 'null']) {
      const token = await signBytes(key, { alg: 'ES256', kid: key.kid, typ }, claims)
      t.equal(await verify(token, issuer, { type }), wrong, `${JSON.stringify(typ)} for ${type}`)
    }
  const deep = `{"alg":"ES256","typ":${'['.repeat(4_000)}${']'.repeat(4_000)}}`
  const text = `${base64url.encode(deep)}.${base64url.encode(claims)}`
  const signature = await subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key.privateKey, Buffer.from(text))
  t.equal(await verify(`${text}.${base64url.encode(new Uint8Array(signature))}`, issuer), wrong)
})

// RFC 7515, section 4.1.4: a header need not name the key.
t.test('a token is verified by any key that may have signed it', async (t) => {
  const issuer = await startIssuer(t)
  const [one, two, theirs] = [
    await createSigningKey('one'),
    await createSigningKey('two'),
    await createSigningKey('theirs'),
  ] as [SigningKey, SigningKey, SigningKey]
  const elsewhere = { ...(await createSigningKey('broken')), kid: 'broken' }
  const broken = { ...elsewhere, jwk: { ...elsewhere.jwk, x: elsewhere.jwk.y } } as SigningKey
  const encrypting = { ...theirs, jwk: { ...theirs.jwk, use: 'enc' } }
  const rsa = await createSigningKey('one', 'RS256')
  for (const [title, published, signer, header, expected] of [
    ['the first of two, not named', [one, two], one, { kid: undefined }, 'ann'],
    ['the second of two, not named', [one, two], two, { kid: undefined }, 'ann'],
    ['one of two, named', [one, two], two, {}, 'ann'],
    ['one that is published twice', [one, one], one, {}, 'ann'],
    ['one that is published twice, not named', [one, one], one, { kid: undefined }, 'ann'],
    [
      'one with the name of another',
      [one, { ...two, jwk: { ...two.jwk, kid: 'one' } }],
      two,
      { kid: 'one' },
      'ann',
    ],
    ['one with the name of one of another type', [rsa, one], one, {}, 'ann'],
    ['one beside one that is broken', [broken, one], one, { kid: undefined }, 'ann'],
    [
      'one beside a broken one of its name',
      [{ ...broken, jwk: { ...broken.jwk, kid: 'one' } }, one],
      one,
      {},
      'ann',
    ],
    ['one of none of them, not named', [one, two], theirs, { kid: undefined }, wrong],
    ['one of none of them, with the name of one', [one, two], theirs, { kid: 'one' }, wrong],
    ['one that is to encrypt', [one, encrypting], theirs, { kid: undefined }, wrong],
  ] as const) {
    issuer.keys = [...published]
    const token = await issuer.token({}, header, signer)
    t.equal(await verify(token, issuer), expected, title)
    if (expected !== 'ann') continue
    t.equal(await verify(await issuer.token({ exp: 1 }, header, signer), issuer), expired, title)
    t.equal(await verify(`${token.slice(0, -8)}AAAAAAAA`, issuer), wrong, title)
  }
})

t.test('a token that names no key is verified by one that is newer than those that are known', async (t) => {
  const issuer = await startIssuer(t)
  const known = new Issuer(issuer.url, silent)
  const subjectOf = async (key: SigningKey) =>
    (await verifyToken(await issuer.token({}, { kid: undefined }, key), known, expected)).sub
  t.equal(await subjectOf(issuer.keys[0] as SigningKey), 'ann')
  issuer.keys = [await createSigningKey('second')]
  t.equal(await subjectOf(issuer.keys[0] as SigningKey), 'ann')
  t.strictSame(issuer.fetches(), { discovery: 1, keys: 2 })
})

t.test('a token that no key could have signed waits for no key', async (t) => {
  const issuer = await startIssuer(t)
  const known = new Issuer(issuer.url, silent)
  await verifyToken(await issuer.token(), known, expected)
  const payload = encode(issuer.claims())
  for (const header of [
    { alg: 'HS256', kid: 'x' },
    { alg: 'none', kid: 'x' },
    { alg: ['ES256'], kid: 'x' },
    { alg: 'ES256', kid: 5 },
    { alg: 'ES256', kid: null },
    { alg: 'ES256', kid: ['first'] },
    {},
    [],
  ])
    await t.rejects(verifyToken(`${encode(header)}.${payload}.AAAA`, known, expected), {
      code: 'invalid_credentials',
    })
  t.strictSame(issuer.fetches(), { discovery: 1, keys: 1 })
})

t.test('tokens of other types are refused (RFC 8725, section 3.11)', async (t) => {
  const issuer = await startIssuer(t)
  const used = async (typ: string | undefined, type?: string) =>
    verify(await issuer.token({}, { typ }), issuer, { type })
  for (const typ of ['at+jwt', 'AT+JWT', 'application/at+jwt', 'JWT', undefined])
    t.equal(await used(typ), 'ann', String(typ))
  for (const typ of ['logout+jwt', 'dpop+jwt', 'secevent+jwt', 'id', '']) t.equal(await used(typ), wrong, typ)
  t.equal(await used('at+jwt', 'at+jwt'), 'ann')
  t.equal(await used('JWT', 'at+jwt'), wrong, 'a team can insist')
  t.equal(await used(undefined, 'at+jwt'), wrong)
})

const encode = (value: unknown) => base64url.encode(JSON.stringify(value))

/** Signs any bytes under any header, even those that a library would refuse to sign. */
async function signBytes(
  { privateKey }: SigningKey,
  header: unknown,
  bytes: string | Uint8Array,
): Promise<string> {
  const text = `${encode(header)}.${base64url.encode(bytes)}`
  const signature = await subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, Buffer.from(text))
  return `${text}.${base64url.encode(new Uint8Array(signature))}`
}

/** Signs by HMAC, with a public text as the secret. */
function signByHmac(header: object, payload: object, secret: string): string {
  const text = `${encode(header)}.${encode(payload)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

type Forgery = readonly [title: string, token: string]

/** Makes tokens without a key of the issuer. */
async function forge(issuer: FakeIssuer, { jwk, kid }: SigningKey): Promise<Forgery[]> {
  const valid = await issuer.token()
  const [header = '', payload = '', signature = ''] = valid.split('.')
  const under = (changes: object) => `${encode({ alg: 'ES256', kid, ...changes })}.${payload}.${signature}`
  const hmac = (secret: string) => signByHmac({ alg: 'HS256', kid }, issuer.claims(), secret)
  return [
    ['of no algorithm', new UnsecuredJWT(issuer.claims()).encode()],
    ['of the algorithm None', `${encode({ alg: 'None', kid })}.${payload}.`],
    ['of the algorithm NONE, with a signature', under({ alg: 'NONE' })],
    ['of the public key as the secret, in PEM', hmac(await exportSPKI((await importJWK(jwk)) as CryptoKey))],
    ['of the public key as the secret, in JSON', hmac(JSON.stringify(jwk))],
    ['of an empty secret', hmac('')],
    ['of another algorithm than the key', under({ alg: 'RS256' })],
    ['of the right algorithm in another case', under({ alg: 'es256' })],
    ['of a list of algorithms', under({ alg: ['ES256'] })],
    ['with another header under the signature', under({ a: 1 })],
    [
      'with other claims under the signature',
      `${header}.${encode(issuer.claims({ sub: 'bob' }))}.${signature}`,
    ],
    ['without a signature', `${header}.${payload}.`],
    ['with the signature of zeros', `${header}.${payload}.${'A'.repeat(signature.length)}`],
    ['with half a signature', `${header}.${payload}.${signature.slice(0, signature.length / 2)}`],
    ['with bytes behind the signature', `${valid}AAAA`],
    ['that is cut off', valid.slice(0, -1)],
    ['of four parts', `${valid}.${signature}`],
    ['of five parts, as if encrypted', `${header}..${payload}.${signature}.AAAA`],
    ['of two parts', `${header}.${payload}`],
    ['in padded base64', `${header}=.${payload}.${signature}`],
    ['whose header is no JSON', `${base64url.encode('nonsense')}.${payload}.${signature}`],
    ['whose header is a list', `${encode([])}.${payload}.${signature}`],
    ['whose header is null', `${encode(null)}.${payload}.${signature}`],
    ['of nothing', '..'],
  ]
}

/** Makes tokens signed by another key, with that key, or its URL, in the header (RFC 8725, section 3.10). */
async function signByOther(issuer: FakeIssuer, { kid }: SigningKey, other: SigningKey): Promise<Forgery[]> {
  const sign = (header: object) =>
    signBytes(other, { alg: 'ES256', kid, ...header }, JSON.stringify(issuer.claims()))
  const url = `${issuer.url}/theirs`
  return [
    ['that names the key of the issuer', await sign({})],
    ['with its own key', await sign({ jwk: other.jwk })],
    ['with its own key under its own name', await sign({ jwk: other.jwk, kid: other.kid })],
    ['with the address of its own keys', await sign({ jku: url, kid: other.kid })],
    ['with the address of its own certificate', await sign({ x5u: url })],
    ['with its own certificate', await sign({ x5c: ['MIIB'] })],
    ['that names a path', await sign({ kid: '../../../../dev/null' })],
    ['that names SQL', await sign({ kid: "' or 1=1 --" })],
    ['that names what every object has', await sign({ kid: '__proto__' })],
    ['that names an object', await sign({ kid: { toString: 'first' } })],
    ['that names no key', await sign({ kid: undefined })],
  ]
}

/** Makes texts that the issuer itself has signed, but that are no valid tokens. */
async function signOddly(issuer: FakeIssuer, key: SigningKey): Promise<Forgery[]> {
  const claims = JSON.stringify(issuer.claims())
  const sign = (header: object, bytes: string | Uint8Array = claims) =>
    signBytes(key, { alg: 'ES256', kid: key.kid, ...header }, bytes)
  const latin1 = Buffer.from(JSON.stringify(issuer.claims({ sub: 'Zoë' })), 'latin1')
  return [
    ['with a critical part that nobody knows', await sign({ crit: ['urn:x'], 'urn:x': true })],
    ['with a critical part that is absent', await sign({ crit: ['urn:x'] })],
    ['with an empty list of critical parts', await sign({ crit: [] })],
    ['with critical parts that are no list', await sign({ crit: 'exp' })],
    ['whose claims are not encoded', await sign({ crit: ['b64'], b64: false })],
    ['whose claims are no JSON', await sign({}, 'nonsense')],
    ['whose claims are empty', await sign({}, '')],
    ['whose claims are a list', await sign({}, `[${claims}]`)],
    ['whose claims are null', await sign({}, 'null')],
    ['whose claims are another token', await sign({ cty: 'JWT' }, await issuer.token())],
    ['whose claims are not UTF-8', await sign({}, latin1)],
  ]
}

t.test('forged tokens are refused, and nothing that they name is fetched', async (t) => {
  const issuer = await startIssuer(t)
  const [key] = issuer.keys as [SigningKey]
  const other = await createSigningKey('theirs')
  const made = [forge(issuer, key), signByOther(issuer, key, other), signOddly(issuer, key)]
  for (const [title, token] of (await Promise.all(made)).flat())
    t.equal(await verify(token, issuer), wrong, `a token ${title}`)
  t.strictSame(new Set(issuer.fetched), new Set(['/.well-known/openid-configuration', '/keys']))
})

t.test('a key of the issuer that cannot be used is no fault of the token', async (t) => {
  const issuer = await startIssuer(t)
  const [key] = issuer.keys as [SigningKey]
  const token = await issuer.token()
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  const secret = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  const unusable: [title: string, token: string, jwk: object][] = [
    ['a point outside the curve', token, { ...key.jwk, x: key.jwk.y }],
    ['a private key', token, { ...secret, kid: key.kid }],
    [
      'an RSA key of 1024 bits',
      token.replace(/^[^.]+/, encode({ alg: 'RS256', kid: key.kid })),
      { ...weak, kid: key.kid },
    ],
  ]
  for (const [title, sent, jwk] of unusable) {
    issuer.keys = [{ ...key, jwk }]
    t.equal(await verify(sent, issuer), '503 unavailable: unavailable', title)
  }
})
