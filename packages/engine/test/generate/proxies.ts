import { contractWith } from 'contract-testing/engine'
import t from 'tap'
import { proxyWarnings } from '../../src/generate/proxies.js'

const header = (name: string) => ({ name, in: 'header', schema: { type: 'string' } })
const inHeader = (name: string) => ({ type: 'apiKey', in: 'header', name })
const response = (...headers: string[]) => ({
  description: 'All.',
  headers: Object.fromEntries(headers.map((name) => [name, { schema: { type: 'string' } }])),
})

async function warned(operation: object, scheme: object = inHeader('X-Key')) {
  const list = { method: 'get', security: [{ key: [] }], responses: { 200: response() }, ...operation }
  const contract = await contractWith({ list }, { components: { securitySchemes: { key: scheme } } })
  return proxyWarnings(contract)
}

for (const [name, isDropped] of [
  ['X-Tenant', false],
  ['tenant2', false],
  ['x_tenant', true],
  ['X.Tenant', true],
  ['X-Tenant!', true],
  ["x~t'", true],
] as const)
  t.test(`the header ${name} is ${isDropped ? 'one that proxies drop' : 'kept by proxies'}`, async (t) => {
    const of = { parameters: [header(name), { ...header(name), in: 'query' }] }
    const [parameter, ...others] = await warned(of)
    t.match(parameter, isDropped ? { text: `list: the header parameter ${name}: nginx ` } : undefined)
    t.strictSame(others, [], 'a query has no such limit')
    const [key] = await warned({}, inHeader(name))
    t.match(
      key,
      isDropped
        ? {
            text: `the security scheme key: the header ${name}: nginx `,
            at: ['components', 'securitySchemes', 'key'],
          }
        : undefined,
    )
  })

const tagged = { responses: { 200: response('etag') } }
const shared: [title: string, operation: object, scheme: object, place: string | undefined][] = [
  ['whose key is in a header of its own', tagged, inHeader('X-Key'), 'the header x-key'],
  ['whose key is in a cookie', tagged, { ...inHeader('id'), in: 'cookie' }, 'the cookie id'],
  ['whose key is in Authorization', tagged, inHeader('authorization'), undefined],
  ['with a bearer token', tagged, { type: 'http', scheme: 'bearer' }, undefined],
  ['whose key is in the URL, which caches tell apart', tagged, { ...inHeader('id'), in: 'query' }, undefined],
  ['without a key', { ...tagged, security: [] }, inHeader('X-Key'), undefined],
  [
    'that has Cache-Control',
    { responses: { 200: response('ETag', 'cache-control') } },
    inHeader('X-Key'),
    undefined,
  ],
  ['without a tag', {}, inHeader('X-Key'), undefined],
  [
    'whose 304 makes the server set Cache-Control',
    { responses: { ...tagged.responses, 304: { description: 'The same.' } } },
    inHeader('X-Key'),
    undefined,
  ],
  ['that writes', { ...tagged, method: 'delete' }, inHeader('X-Key'), undefined],
  [
    'with a tag of its error',
    { responses: { 200: response(), 404: response('ETag') } },
    inHeader('X-Key'),
    undefined,
  ],
  [
    'with a tag of its default',
    { responses: { default: response('ETag') } },
    inHeader('X-Key'),
    'the header x-key',
  ],
]

for (const [title, operation, scheme, place] of shared)
  t.test(`an operation ${title} is ${place === undefined ? 'fine' : 'warned of'}`, async (t) => {
    const texts = (await warned(operation, scheme)).map(({ text }) => text)
    t.equal(texts.length, place === undefined ? 0 : 1)
    if (place !== undefined)
      t.match(
        texts[0],
        /^list: the response (200|default) has an ETag and no Cache-Control, and its key is in /,
      )
    if (place !== undefined) t.ok(texts[0]?.includes(place))
  })
