// The links of responses are absolute: at the public URL, or else at the address that the request names.

import { contractFiles, errorHandler, mount, RequestError } from 'contract-engine'
import { contractWith, done } from 'contract-testing/engine'
import { sendRaw } from 'contract-testing/send-raw'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import type { AddressOptions } from '../../../src/serve/paths/address.js'

const contract = await contractWith(
  { values: { path: '/shops/{id}/values', parameters: [idOf('shop')], responses: done } },
  { servers: [{ url: 'https://toys.example/v1' }] },
)

function idOf(description: string) {
  return { name: 'id', in: 'path', required: true, description, schema: { type: 'string' } }
}

type Headers = Record<string, string | string[]>

/**
 * Starts a server whose operation responds with these headers. Returns a function that sends it header lines.
 */
async function start(t: Test, headers: Headers, address?: AddressOptions, isThrown = false) {
  const app = Fastify()
  t.teardown(() => app.close())
  app.setErrorHandler(errorHandler(contract))
  contractFiles(app, contract, address)
  const values = async () => {
    if (isThrown) throw new RequestError('not_here', 'It is not here.', { headers: headers as never })
    return { status: 204, headers }
  }
  await mount(app, { contract, handlers: { values }, ...(address && { address }) })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  return async (lines: readonly string[], target = '/v1/shops/7/values', version = '1.1') => {
    const head = [`POST ${target} HTTP/${version}`, ...lines, 'Connection: close', 'Content-Length: 0']
    const response = await sendRaw(origin, `${head.join('\r\n')}\r\n\r\n`)
    const fields = [...response.matchAll(/^(location|content-location|link): (.*)\r$/gim)]
    return Object.fromEntries(fields.map(([, name = '', value]) => [name.toLowerCase(), value]))
  }
}

const hosts: [host: string, origin: string][] = [
  ['store.example', 'http://store.example'],
  ['store.example:8080', 'http://store.example:8080'],
  ['STORE.example:80', 'http://store.example'],
  ['store.example:', 'http://store.example'],
  ['store.example:443', 'http://store.example:443'],
  ['127.0.0.1:3000', 'http://127.0.0.1:3000'],
  ['[::1]:3000', 'http://[::1]:3000'],
  ['[2001:DB8::0:1]', 'http://[2001:db8::1]'],
  ['a_b.example', 'http://a_b.example'],
  ['caf%C3%A9.example', 'http://xn--caf-dma.example'],
  ['', ''],
  [':80', ''],
  ['store.example:99999', ''],
  ['store.example:80a', ''],
  ['store.example:-1', ''],
  ['user@store.example', ''],
  ['user:word@store.example:80', ''],
  ['store.example/evil', ''],
  ['store.example?evil', ''],
  ['store.example#evil', ''],
  ['store.example\\evil', ''],
  ['store example', ''],
  ['"store"', ''],
  ['<store>', ''],
  ['a, b', ''],
  ['caf\u00e9.example', ''],
  ['a%0d%0aX-Evil:1', ''],
  ['a%2Fevil', ''],
  ['a%', ''],
  ['[::1', ''],
  ['[::1]x', ''],
  ['[::g]', ''],
  ['[fe80::1%25eth0]', ''],
  ['[127.0.0.1]', ''],
  ['256.256.256.256', ''],
  [`${'a'.repeat(252)}.example`, ''],
  ['a'.repeat(5_000), ''],
]

t.test('links are at the host of the request, or from the root if it names no valid one', async (t) => {
  const ask = await start(t, { Location: 'values/8' })
  for (const [host, origin] of hosts) {
    const { location } = await ask([`Host: ${Buffer.from(host).toString('latin1')}`])
    t.equal(location, `${origin}/v1/shops/7/values/8`, host.slice(0, 40))
  }
  t.equal((await ask([], undefined, '1.0')).location, '/v1/shops/7/values/8', 'HTTP/1.0')
  t.equal((await ask(['Host: a'], undefined, '1.0')).location, 'http://a/v1/shops/7/values/8')
})

t.test('the host of an absolute target counts, and not Host', async (t) => {
  const ask = await start(t, { Location: 'values/8' })
  const { location } = await ask(['Host: store.example'], 'http://other.example:8080/v1/shops/7/values')
  t.equal(location, 'http://other.example:8080/v1/shops/7/values/8')
  const named = await ask(['Host: store.example'], 'http://user@other.example/v1/shops/7/values')
  t.equal(named.location, '/v1/shops/7/values/8')
})

const forwarded: [lines: string[], root: string][] = [
  [['X-Forwarded-Proto: https'], 'https://inner:3000'],
  [['X-Forwarded-Proto: HTTPS', 'X-Forwarded-Host: store.example'], 'https://store.example'],
  [['X-Forwarded-Host: store.example:443', 'X-Forwarded-Proto: https'], 'https://store.example'],
  [['X-Forwarded-Host: [::1]:8443', 'X-Forwarded-Proto: https'], 'https://[::1]:8443'],
  [['X-Forwarded-Prefix: /animals'], 'http://inner:3000/animals'],
  [['X-Forwarded-Prefix: animals/'], 'http://inner:3000/animals'],
  [['X-Forwarded-Prefix: /a/b%20c/'], 'http://inner:3000/a/b%20c'],
  [['X-Forwarded-Prefix: /'], 'http://inner:3000'],
  [['X-Forwarded-Prefix:'], 'http://inner:3000'],
  [['X-Forwarded-Prefix: /a/../b/./c'], 'http://inner:3000/b/c'],
  // The last of several values is from the nearest proxy.
  [['X-Forwarded-Proto: http, https'], 'https://inner:3000'],
  [['X-Forwarded-Host: evil.example', 'X-Forwarded-Host: store.example'], 'http://store.example'],
  [['X-Forwarded-Host: evil.example,store.example'], 'http://store.example'],
  [['X-Forwarded-Prefix: /evil, /animals'], 'http://inner:3000/animals'],
  // Such values are not valid addresses.
  [['X-Forwarded-Proto: javascript'], 'http://inner:3000'],
  [['X-Forwarded-Proto: https://evil.example'], 'http://inner:3000'],
  [['X-Forwarded-Host:'], 'http://inner:3000'],
  [['X-Forwarded-Host: user@store.example'], ''],
  [['X-Forwarded-Host: store.example/evil'], ''],
  [['X-Forwarded-Prefix: //evil.example'], 'http://inner:3000'],
  [['X-Forwarded-Prefix: /a//b'], 'http://inner:3000'],
  [['X-Forwarded-Prefix: /a?b'], 'http://inner:3000'],
  [['X-Forwarded-Prefix: /a>; rel="next"'], 'http://inner:3000'],
  [['X-Forwarded-Prefix: /a%zz'], 'http://inner:3000'],
  [['X-Forwarded-Prefix: /caf\u00e9'], 'http://inner:3000'],
  [[`X-Forwarded-Prefix: /${'a'.repeat(5_000)}`], 'http://inner:3000'],
  [['X-Forwarded-Port: 8443', 'Forwarded: host=evil.example'], 'http://inner:3000'],
]

t.test('what a trusted proxy says of the request counts', async (t) => {
  const ask = await start(t, { Location: 'values/8' }, { isProxy: (peer) => peer === '127.0.0.1' })
  for (const [lines, root] of forwarded) {
    const { location } = await ask(['Host: inner:3000', ...lines])
    t.equal(location, `${root}/v1/shops/7/values/8`, lines.join(' ').slice(0, 60))
  }
  const nameless = await ask(['X-Forwarded-Prefix: //evil.example/'], undefined, '1.0')
  t.equal(nameless.location, '/v1/shops/7/values/8')
})

t.test('what any other peer says does not', async (t) => {
  const all = forwarded.flatMap(([lines]) => lines)
  for (const address of [{ isProxy: () => false }, undefined]) {
    const ask = await start(t, { Location: 'values/8' }, address)
    for (const line of all)
      t.equal((await ask(['Host: a', line])).location, 'http://a/v1/shops/7/values/8', line.slice(0, 60))
  }
})

const published: [publicUrl: string, location: string, page: string][] = [
  ['https://store.example/v1', 'https://store.example/v1/shops/7/values/8', 'https://store.example/docs'],
  ['https://a.example/b/v1', 'https://a.example/b/v1/shops/7/values/8', 'https://a.example/b/docs'],
  // The prefix occurs in its host, or the gateway's own path replaces the prefix.
  ['https://v1', 'https://v1/shops/7/values/8', 'https://v1/docs'],
  ['https://a.example/toys', 'https://a.example/toys/shops/7/values/8', 'https://a.example/toys/docs'],
]

for (const [publicUrl, location, page] of published)
  t.test(`links are at the public URL ${publicUrl}, whatever the request says`, async (t) => {
    const headers = { Location: 'values/8', Link: '</docs>; rel="help", </v1/shops/7/values/8>; rel="item"' }
    const ask = await start(t, headers, { publicUrl, isProxy: () => true })
    const lines = ['X-Forwarded-Host: evil.example', 'X-Forwarded-Prefix: /evil', 'X-Forwarded-Proto: http']
    for (const target of [
      '/v1/shops/7/values',
      '/%761/shops/7/values',
      'http://evil.example/v1/shops/7/values',
    ])
      t.equal((await ask(['Host: evil.example', ...lines], target)).location, location, target)
    t.equal((await ask(['Host: a'])).link, `<${page}>; rel="help", <${location}>; rel="item"`)
    t.equal((await ask([], undefined, '1.0')).location, location)
  })

// From /v1/shops/a%2Fb/values.
const targets: [reference: string, expected: string][] = [
  ['values/8', 'http://a/v1/shops/a%2Fb/values/8'],
  ['values?page=2&c=a:b/../c', 'http://a/v1/shops/a%2Fb/values?page=2&c=a:b/../c'],
  ['?page=2', 'http://a/v1/shops/a%2Fb/values?page=2'],
  ['./a:b', 'http://a/v1/shops/a%2Fb/a:b'],
  ['../all', 'http://a/v1/shops/all'],
  ['../../../../docs', 'http://a/docs'],
  ['/docs', 'http://a/docs'],
  ['', 'http://a/v1/shops/a%2Fb/values'],
  ['https://other.example/x', 'https://other.example/x'],
  ['//other.example/x', '//other.example/x'],
  ['urn:isbn:1', 'urn:isbn:1'],
  ['mailto:a@b.example', 'mailto:a@b.example'],
]

const target = '/v1/shops/a%2Fb/values'
for (const [reference, expected] of targets)
  t.test(`the reference "${reference}" of a response leads to ${expected}`, async (t) => {
    const ask = await start(t, {
      location: reference,
      'CONTENT-Location': reference,
      LINK: `<${reference}>; rel=x`,
    })
    t.strictSame(await ask(['Host: a'], target), {
      location: expected,
      'content-location': expected,
      link: `<${expected}>; rel=x`,
    })
  })

const links: [sent: string | string[], received: string][] = [
  [
    '<a>; rel="x", <b>; rel="y",<c>',
    '<http://a/v1/shops/7/a>; rel="x", <http://a/v1/shops/7/b>; rel="y",<http://a/v1/shops/7/c>',
  ],
  [
    '<a,b>; rel="x"; title="<c>, \\"<d>", <e>',
    '<http://a/v1/shops/7/a,b>; rel="x"; title="<c>, \\"<d>", <http://a/v1/shops/7/e>',
  ],
  ["<a>; title*=UTF-8''%3Cb%3E", "<http://a/v1/shops/7/a>; title*=UTF-8''%3Cb%3E"],
  ['<https://b/c>; rel="x"; anchor="d"', '<https://b/c>; rel="x"; anchor="d"'],
  ['<a>; title="no end <b>', '<http://a/v1/shops/7/a>; title="no end <b>'],
  ['nothing', 'nothing'],
]

t.test('every target of a Link is absolute, and nothing else of it changes', async (t) => {
  for (const [sent, received] of links) {
    const ask = await start(t, { Link: sent })
    t.equal((await ask(['Host: a'])).link, received)
  }
  const ask = await start(t, { Link: ['<a>; rel="x"', '<b>; rel="y"'], Location: 'c' })
  const { link } = await ask(['Host: a'])
  t.equal(link, '<http://a/v1/shops/7/b>; rel="y"', 'the last of two fields')
})

t.test('a path with what a Link may not contain is encoded in it', async (t) => {
  const ask = await start(t, { Link: '<a>; rel="x"', Location: 'b' })
  for (const [written, encoded] of [
    ['%3Ca%3E%22', '%3Ca%3E%22'],
    ['<a>"', '%3Ca%3E%22'],
  ]) {
    const answer = await ask(['Host: a'], `/v1/shops/${written}/values`)
    t.strictSame(answer, {
      link: `<http://a/v1/shops/${encoded}/a>; rel="x"`,
      location: `http://a/v1/shops/${encoded}/b`,
    })
  }
})

t.test('so are the links of errors', async (t) => {
  const ask = await start(t, { Link: '<../all>; rel="help"' }, undefined, true)
  t.equal((await ask(['Host: a'])).link, '<http://a/v1/shops/all>; rel="help"')
})

t.test('requests that name different hosts in turn get their own', async (t) => {
  const ask = await start(t, { Location: 'b' })
  const names = Array.from({ length: 60 }, (_, i) => `h${i % 3}.example`)
  const answers = await Promise.all(names.map((name) => ask([`Host: ${name}`])))
  t.strictSame(
    answers.map(({ location }) => location),
    names.map((name) => `http://${name}/v1/shops/7/b`),
  )
})
