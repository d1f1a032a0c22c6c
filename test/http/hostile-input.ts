// Misbehaving clients over raw sockets: each is limited, gets the error body, and affects no other client.

import { once } from 'node:events'
import type { Server } from 'node:http'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import { block } from 'contract-testing/clocks'
import { isNightly } from 'contract-testing/nightly'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { handlers } from '../../generated/handlers.js'
import { nameLengthMax, prefix } from '../fixtures/facts.js'
import { contract, type Service, send, sendRaw, startService } from '../fixtures/service.js'

interface Part {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** Parses the responses that a server sent on one connection. */
function responsesIn(text: string): Part[] {
  const responses: Part[] = []
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n') + 4
    const head = rest.slice(0, end)
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    responses.push({ status: Number(head.slice(9, 12)), head, body: rest.slice(end, end + length) })
    rest = rest.slice(end + length)
  }
  return responses
}

function statuses(text: string): number[] {
  return responsesIn(text).map(({ status }) => status)
}

const rex = '{"name":"Rex","categoryId":1}'

function post(service: Service, lines: readonly string[], body = ''): string {
  const given = [`Authorization: ${service.auth.authorization}`, 'Content-Type: application/json', ...lines]
  return `POST ${prefix}/pets HTTP/1.1\r\nHost: x\r\n${given.map((line) => `${line}\r\n`).join('')}\r\n${body}`
}

type Unusual = readonly [
  status: number,
  part: 'method' | 'target' | 'version' | 'header',
  values: readonly string[],
]

/** Returns a GET of a list with one part replaced; a header is added. */
function unusual(service: Service, part: Unusual[1], value: string): string {
  const usual = { method: 'GET', target: `${prefix}/pets`, version: 'HTTP/1.1', header: 'X-Usual: 1' }
  const all = { ...usual, [part]: value }
  const { method, target, version, header } = all
  const lines = ['Host: x', `Authorization: ${service.auth.authorization}`, header].join('\r\n')
  return `${method} ${target} ${version}\r\n${lines}\r\n\r\n`
}

/**
 * Returns the faults of a response's head: lines that RFC 9112 forbids, and fields that must not be there
 * twice.
 */
function faultsOfHead(head: string): string[] {
  const [first = '', ...lines] = head.trimEnd().split('\r\n')
  const names = lines.map((line) => line.replace(/:.*/, '').toLowerCase())
  return [
    ...(/^HTTP\/1\.1 \d{3} [\x20-\x7e]*$/.test(first) ? [] : [first]),
    ...lines.filter((line) => !/^[!#$%&'*+.^_`|~\w-]+: ?[\x20-\x7e]*$/.test(line)),
    ...names.filter((name, i) => names.indexOf(name) !== i),
    ...(names.includes('x-request-id') ? [] : ['no X-Request-Id']),
  ]
}

// Stack traces, SQL, error codes of libraries, file paths, and a host that the client made up.
const internals =
  /node_modules|node:|[.][cm]?[jt]s:\d|\bselect\b|postgres|\bpg_|FST_|HPE_|ERR_[A-Z]|ENOENT|forged\.example/i

async function count(service: Service): Promise<number> {
  const [row] = await service.sql<{ count: number }[]>`select count(*)::int as count from pets`
  return row?.count ?? -1
}

function refuses(t: Test, response: Part | undefined, status: number, title: string): void {
  t.equal(response?.status, status, title)
  const body = JSON.parse(response?.body || '{}')
  t.match(body, { status, message: String }, 'in the error body')
  t.equal(contract.errorStatuses.get(body.code), status, 'with a code of that status')
}

t.test('one connection', async (t) => {
  const page = 'https://page.example'
  const service = await startService(t, { env: { CORS_ORIGINS: page } })
  const { origin } = service
  const length = `Content-Length: ${rex.length}`

  t.test('responds to the requests before garbage, then to the garbage', async (t) => {
    const before = await count(service)
    const text = await sendRaw(origin, `${post(service, [length], rex)}garbage\r\n\r\n`)
    const [created, refused, ...others] = responsesIn(text)
    t.equal(created?.status, 201)
    refuses(t, refused, 400, 'the garbage is refused')
    t.strictSame(others, [])
    t.equal(await count(service), before + 1)
  })

  t.test('responds to pipelined requests in order, and to trailing garbage last', async (t) => {
    const paths = [
      `${prefix}/pets?limit=1`,
      `${prefix}/pets/x`,
      '/healthz',
      `${prefix}/nothing`,
      `${prefix}/pets?limit=0`,
    ]
    const asked = Array.from({ length: 200 }, (_, i) => paths[i % paths.length])
    const requests = asked.map(
      (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${service.auth.authorization}\r\n\r\n`,
    )
    const received = statuses(await sendRaw(origin, `${requests.join('')}\0`))
    t.strictSame(received, [...asked.map((_, i) => [200, 400, 200, 404, 400][i % 5]), 400])
  })

  t.test('stays open after a complete request is refused', async (t) => {
    const refused = `POST ${prefix}/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${length}\r\n\r\n${rex}`
    const next = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    t.strictSame(statuses(await sendRaw(origin, refused + next)), [401, 200])
  })

  t.test('responds to a client that has closed its half', async (t) => {
    for (const request of [post(service, [length], rex), 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n']) {
      const socket = net.connect({
        port: Number(new URL(origin).port),
        host: '127.0.0.1',
        allowHalfOpen: true,
      })
      socket.end(request)
      t.match(statuses(await text(socket)), [request.startsWith('P') ? 201 : 200])
    }
  })

  t.test('that ends in the middle of a request gets a 400 if it is half open', async (t) => {
    const socket = net.connect({ port: Number(new URL(origin).port), host: '127.0.0.1', allowHalfOpen: true })
    socket.end(post(service, ['Content-Length: 100'], '{"name":'))
    refuses(t, responsesIn(await text(socket))[0], 400, 'half a body')
  })

  const early: [title: string, status: number, request: string][] = [
    ['no key', 401, `POST ${prefix}/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n`],
    ['a wrong type', 415, post(service, ['Content-Length: 50']).replace('json', 'xml').slice(0, -2)],
    ['a length too large', 413, post(service, [`Content-Length: ${contract.limits.body + 1}`]).slice(0, -2)],
    ['an unknown path', 404, `POST ${prefix}/nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n`],
  ]
  for (const [title, status, head] of early) {
    t.test(`with ${title} and a body that does not arrive gets ${status} and is closed`, async (t) => {
      const [response, ...others] = responsesIn(await sendRaw(origin, `${head}\r\n`))
      refuses(t, response, status, title)
      t.match(response?.head, /connection: close/i)
      t.strictSame(others, [], 'and no second response when it times out')
    })

    t.test(`with ${title} that waits for 100 gets ${status} at once`, async (t) => {
      const [response, ...others] = responsesIn(await sendRaw(origin, `${head}Expect: 100-continue\r\n\r\n`))
      refuses(t, response, status, title)
      t.strictSame(others, [])
    })
  }

  t.test('that waits for 100 gets it when its body is read', async (t) => {
    const socket = net.connect(Number(new URL(origin).port), '127.0.0.1').setEncoding('utf8')
    socket.write(post(service, [length, 'Expect: 100-continue', 'Connection: close']))
    const [interim] = await once(socket, 'data')
    t.equal(interim, 'HTTP/1.1 100 Continue\r\n\r\n')
    socket.write(rex)
    t.strictSame(statuses(await text(socket)), [201])
  })

  t.test('with a body that is too large gets its response while it is sending', async (t) => {
    const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`
    const chunks = chunk.repeat(Math.ceil((contract.limits.body * 4) / 0x1000))
    const text = await sendRaw(origin, post(service, ['Transfer-Encoding: chunked']), chunks)
    refuses(t, responsesIn(text)[0], 413, 'chunks without end')
  })

  const framings: [title: string, lines: string[], body: string][] = [
    ['two lengths', ['Content-Length: 4', 'Content-Length: 5'], rex],
    ['one length twice', [length, length], rex],
    ['a list of lengths', [`Content-Length: ${rex.length}, ${rex.length}`], rex],
    ['a length with a sign', [`Content-Length: +${rex.length}`], rex],
    ['a length below zero', ['Content-Length: -1'], rex],
    ['a length in hex', ['Content-Length: 0x1d'], rex],
    ['a length beyond all bounds', ['Content-Length: 99999999999999999999'], rex],
    ['a length and chunks', [length, 'Transfer-Encoding: chunked'], '0\r\n\r\n'],
    ['chunks and a length', ['Transfer-Encoding: chunked', length], '0\r\n\r\n'],
    ['a coding before chunks', ['Transfer-Encoding: gzip, chunked'], `1d\r\n${rex}\r\n0\r\n\r\n`],
    ['a coding after chunks', ['Transfer-Encoding: chunked, gzip'], `1d\r\n${rex}\r\n0\r\n\r\n`],
    [
      'a coding in two lines',
      ['Transfer-Encoding: gzip', 'Transfer-Encoding: chunked'],
      `1d\r\n${rex}\r\n0\r\n\r\n`,
    ],
    ['chunks twice', ['Transfer-Encoding: chunked, chunked'], `1d\r\n${rex}\r\n0\r\n\r\n`],
    ['a coding that only looks like chunks', ['Transfer-Encoding: xchunked'], rex],
    ['a blank before the colon', ['Transfer-Encoding : chunked'], `1d\r\n${rex}\r\n0\r\n\r\n`],
    ['a line folded', ['Transfer-Encoding:\r\n chunked'], `1d\r\n${rex}\r\n0\r\n\r\n`],
    ['a chunk of no size', ['Transfer-Encoding: chunked'], `\r\n${rex}\r\n0\r\n\r\n`],
    ['a chunk size in words', ['Transfer-Encoding: chunked'], `0x1d\r\n${rex}\r\n0\r\n\r\n`],
    ['a chunk size below zero', ['Transfer-Encoding: chunked'], `-1\r\n${rex}\r\n0\r\n\r\n`],
    ['a chunk size beyond all bounds', ['Transfer-Encoding: chunked'], `fffffffffffffffff\r\n${rex}`],
    ['a chunk longer than it says', ['Transfer-Encoding: chunked'], `5\r\n${rex}\r\n0\r\n\r\n`],
    ['chunk extensions without end', ['Transfer-Encoding: chunked'], `1;${'a'.repeat(20_000)}\r\n{`],
    ['lines that end bare', ['Transfer-Encoding: chunked'], `1d\n${rex}\n0\n\n`],
    ['two types', [length, 'Content-Type: text/plain'], rex],
    [
      'chunks in HTTP/1.0',
      ['Connection: keep-alive', 'Transfer-Encoding: chunked'],
      `1d\r\n${rex}\r\n0\r\n\r\n`,
    ],
  ]
  for (const [title, lines, body] of framings) {
    t.test(`with ${title} is refused, and a request smuggled in it is not run`, async (t) => {
      const before = await count(service)
      const hidden = post(service, [length], rex)
      const request = post(service, lines, body)
      const sent = title.endsWith('1.0') ? request.replace('HTTP/1.1', 'HTTP/1.0') : request
      const received = responsesIn(await sendRaw(origin, sent + hidden))
      refuses(t, received[0], 400, title)
      t.equal(received.length, 1, 'the connection ends there')
      t.equal(await count(service), before)
    })
  }

  const hosts = ['a b', 'a/b@c', '[::1', '[::g]', 'a:b', 'a%zz', 'x\r\nHost: y']
  for (const host of hosts) {
    t.test(`with the host ${JSON.stringify(host)} is refused and closed, also for a preflight`, async (t) => {
      const preflight = `Origin: ${page}\r\nAccess-Control-Request-Method: GET\r\n`
      for (const line of [`GET ${prefix}/pets`, 'GET /healthz', 'GET /docs', `OPTIONS ${prefix}/pets`]) {
        const request = `${line} HTTP/1.1\r\nHost: ${host}\r\n${preflight}\r\n`
        const [response, ...others] = responsesIn(await sendRaw(origin, request))
        refuses(t, response, 400, line)
        t.match(response?.head, /^connection: close\r$/im)
        t.strictSame(others, [])
      }
    })
  }

  t.test('may name any valid host', async (t) => {
    for (const host of ['', 'x', 'x:80', 'x:', '[::1]:80', '127.0.0.1', 'a%20b', 'a_b.example'])
      t.match(
        statuses(
          await sendRaw(origin, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
        ),
        [200],
        host,
      )
  })

  t.test('cannot become a tunnel: a CONNECT is closed after the responses to what precedes it', async (t) => {
    const before = await count(service)
    const tunnel = 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n'
    const created = post(service, [length], rex)
    t.strictSame(statuses(await sendRaw(origin, created + tunnel + created)), [201])
    t.equal(await count(service), before + 1, 'and nothing behind it is run')
  })

  t.test('ignores Upgrade to another protocol', async (t) => {
    for (const protocol of ['websocket', 'h2c']) {
      const lines = `Host: x\r\nUpgrade: ${protocol}\r\nConnection: Upgrade, close\r\n`
      t.strictSame(statuses(await sendRaw(origin, `GET /healthz HTTP/1.1\r\n${lines}\r\n`)), [200], protocol)
    }
    const preface = await sendRaw(origin, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    refuses(t, responsesIn(preface)[0], 400, 'HTTP/2 without asking')
  })

  t.test('names a host for its own links alone, and no other in its place', async (t) => {
    await service.call('POST', '/pets', { body: { name: 'a', categoryId: 1 } })
    await service.call('POST', '/pets', { body: { name: 'b', categoryId: 1 } })
    const forged = [
      ...['Forwarded: host=forged.example;proto=https', 'X-Forwarded-Host: forged.example'],
      ...['X-Forwarded-Proto: forged', 'X-Forwarded-Prefix: /forged', 'Connection: close'],
    ]
    const lines = [`Authorization: ${service.auth.authorization}`, ...forged].join('\r\n')
    for (const [host, target] of [
      ['own.example', `${prefix}/pets?limit=1`],
      ['forged.example', `http://own.example${prefix}/pets?limit=1`],
      ['own.example', `${prefix}/pets/1`],
    ]) {
      const text = await sendRaw(origin, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${lines}\r\n\r\n`)
      t.strictSame(statuses(text), [200])
      t.match(text, new RegExp(`\r\nlink: <http://own.example${prefix}/pets[?>]`, 'i'))
      t.notMatch(text, /forged/)
      t.match(text, /\r\ncache-control: .*(no-store|private)/i)
      const { headers } = await service.call('GET', '/pets?limit=1')
      t.match(headers.get('link'), `<${service.base}/pets?`, 'others get their own')
    }
  })

  t.test('cannot inject lines into the log', async (t) => {
    service.log.length = 0
    const breaks = encodeURIComponent('\r\n{"level":60,"msg":"forged"}')
    await service.call('GET', `/pets/${breaks}?${breaks}=${breaks}`, { headers: { 'user-agent': 'forged' } })
    await service.call('POST', '/pets', { body: { name: 'a\r\n{"msg":"forged"}', categoryId: 1 } })
    await sendRaw(origin, 'GET /\r\n{"msg":"forged"} HTTP/1.1\r\nHost: x\r\n\r\n')
    await sendRaw(origin, 'GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\x0b{"msg":"forged"}\r\n\r\n')
    t.ok(service.log.length >= 3)
    t.notMatch(JSON.stringify(service.log), /forged/)
  })

  const pets = `${prefix}/pets`
  const long = 'a'.repeat(Math.max(contract.limits.url, contract.limits.header))
  const malformed: readonly Unusual[] = [
    [400, 'method', ['get', 'BREW', 'G', '', ' GET', 'GET\t', 'G\xc9T', 'PRI', 'A'.repeat(5_000)]],
    [400, 'version', ['HTTP/3.0', 'HTTP/1.1x', 'HTTP/', 'http/1.1', '']],
    [400, 'header', ['X-Odd: a\0b', 'X-Odd: a\rb', 'X-Odd: a\nb', ': a', 'X Odd: a', 'X-Odd : a']],
    [400, 'header', ['Host: forged.example', 'Authorization: Bearer b']],
    [431, 'header', [`X-Odd: ${long}`]],
    [400, 'target', ['pets', '?', `${pets}\xe9`, `${pets}?\xc3\xa9=1`]],
  ]
  const whole: readonly Unusual[] = [
    [405, 'method', ['TRACE', 'QUERY', 'OPTIONS', 'DELETE']],
    [
      200,
      'header',
      ['Accept-Language: \xe9', 'Expect: miracles', 'X-HTTP-Method-Override: DELETE', '__proto__: 1'],
    ],
    [
      200,
      'header',
      [
        'Range: bytes=0-0',
        'If-None-Match: "\xe9, W/*',
        'X-Request-Id: "\\',
        `X-Request-Id: ${'a'.repeat(129)}`,
      ],
    ],
    [304, 'header', ['If-None-Match: *']],
    [200, 'header', [Array.from({ length: 400 }, (_, i) => `X-${i}: 1`).join('\r\n')]],
    [200, 'target', [`http://forged.example${pets}`, pets.replace('e', '%65'), `${pets}?`, `${pets}?&&`]],
    [302, 'target', ['/', 'http://forged.example/']],
    [
      400,
      'target',
      [
        `${pets}#a`,
        `${pets}#status=sold`,
        `${pets}?limit=1#`,
        `http://user@x${pets}`,
        `${pets}?=`,
        `${pets}?%`,
        `${pets}?%zz=%zz`,
        `${pets}/%zz`,
        `${pets}/%c0%af`,
        `${pets}/1%00`,
        `http://%zz${pets}`,
        `http://x:y${pets}`,
        `http://x${pets}#a`,
        'http://?a',
        'http:///',
        `${pets}/${'%25'.repeat(100)}%`,
        `${pets}/%f0%9f%90`,
        `/%ff/%zz?%zz`,
      ],
    ],
    [
      404,
      'target',
      [`${pets}/`, `${pets}//`, `${pets};v=1`, `${pets}%2f1`, `/${pets}`, pets.toUpperCase(), '//'],
    ],
    [404, 'target', [prefix, `${prefix}/`, `${prefix}/__proto__`, `${prefix}/../..`, '//forged.example/']],
    [404, 'target', [`${prefix}/%2e%2e/%2e%2e/etc/passwd`]],
    [414, 'target', [`${prefix}/${long.slice(-contract.limits.url)}`]],
  ]
  for (const [rows, title] of [
    [malformed, 'is closed after a malformed'],
    [whole, 'stays open after an unusual'],
  ] as const) {
    for (const [status, part, values] of rows) {
      t.test(`${title} ${part}, which gets ${status}`, async (t) => {
        for (const value of values) {
          const next = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
          const sent = Buffer.from(unusual(service, part, value) + next, 'latin1')
          const [first, ...others] = responsesIn(await sendRaw(origin, sent))
          const shown = JSON.stringify(value.slice(0, 40))
          if (status >= 400) refuses(t, first, status, shown)
          else t.equal(first?.status, status, shown)
          t.match(others, rows === whole ? [{ status: 200 }] : [], 'and no other response')
          for (const { head, body } of [first, ...others].filter((each) => each !== undefined)) {
            t.strictSame(faultsOfHead(head), [], 'its head is well formed')
            t.notMatch(head + body, internals, 'and reveals nothing')
          }
        }
      })
    }
  }

  t.equal(
    service.log.filter(({ level }) => Number(level) >= 50).length,
    0,
    'and nothing was logged as an error of the service',
  )
})

// Returns the CPU time of this process since then, independent of other processes.
function workedMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return Math.round((user + system) / 1_000)
}

t.test('a body that trickles in gets a 408', async (t) => {
  const service = await startService(t, { env: { REQUEST_TIMEOUT_MS: '300' } })
  const text = await sendRaw(service.origin, post(service, ['Content-Length: 50'], '{'))
  refuses(t, responsesIn(text)[0], 408, 'by the request timeout')
  t.match(text, /^x-ratelimit-remaining: \d+\r$/m, 'with the rate-limit headers of the client')
})

t.test('a request that has arrived and waits to be read by a busy process does not time out', async (t) => {
  const service = await startService(t, { env: { REQUEST_TIMEOUT_MS: '300' } })
  const whole = post(service, [`Content-Length: ${rex.length}`, 'Connection: close'], rex)
  for (const begun of [0, whole.length - 3]) {
    const socket = net.connect({ port: Number(new URL(service.origin).port), host: '127.0.0.1' })
    const response = text(socket)
    await once(service.app.server, 'connection')
    socket.write(whole.slice(0, begun))
    if (begun > 0) await once(service.app.server, 'request')
    socket.write(whole.slice(begun))
    block(1_500) // Node checks timeouts once a second
    t.match(responsesIn(await response), [{ status: 201 }], `${begun} bytes of it were read before`)
  }
})

t.test('a request that timed out is not run when the rest of it arrives', async (t) => {
  const service = await startService(t, { env: { REQUEST_TIMEOUT_MS: '300' } })
  const socket = net.connect({
    port: Number(new URL(service.origin).port),
    host: '127.0.0.1',
    allowHalfOpen: true,
  })
  socket.write(post(service, [`Content-Length: ${rex.length}`], rex.slice(0, 5)))
  const [response] = await once(socket, 'data')
  refuses(t, responsesIn(String(response))[0], 408, 'late')
  socket.on('error', () => {}).end(rex.slice(5) + post(service, [`Content-Length: ${rex.length}`], rex))
  await once(socket.resume(), 'close')
  t.equal(await count(service), 0)
})

t.test('a refused request whose body is malformed in the same packet gets one response', async (t) => {
  const service = await startService(t)
  const lines = 'Host: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n'
  for (const path of [`${prefix}/pets`, `${prefix}/%zz`]) {
    const text = await sendRaw(service.origin, `POST ${path} HTTP/1.1\r\n${lines}\r\nnothing\r\n`)
    const [refusal, ...others] = responsesIn(text)
    refuses(t, refusal, 400, path)
    t.strictSame(others, [])
  }
})

t.test('bytes after a request that is refused before it has arrived are not run as a request', async (t) => {
  const service = await startService(t)
  const socket = net.connect({
    port: Number(new URL(service.origin).port),
    host: '127.0.0.1',
    allowHalfOpen: true,
  })
  socket.write(`POST ${prefix}/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n`)
  const [response] = await once(socket, 'data')
  refuses(t, responsesIn(String(response))[0], 401, 'no key')
  socket.on('error', () => {}).end(`12345${post(service, [`Content-Length: ${rex.length}`], rex)}`)
  await once(socket.resume(), 'close')
  t.equal(await count(service), 0)
})

t.test('a client that reads no responses is disconnected', async (t) => {
  const listPets = async () => ({
    status: 200 as const,
    body: Array.from({ length: 25_000 / nameLengthMax }, (_, i) => ({
      id: BigInt(i),
      name: 'é'.repeat(nameLengthMax),
      categoryId: 1n,
    })),
  })
  const service = await startService(t, {
    handlers: { ...handlers, listPets },
    env: { REQUEST_TIMEOUT_MS: '200', HANDLER_TIMEOUT_MS: '300' },
  })
  const socket = net.connect(Number(new URL(service.origin).port), '127.0.0.1')
  const request = `GET ${prefix}/pets HTTP/1.1\r\nHost: x\r\nAuthorization: ${service.auth.authorization}\r\n\r\n`
  const [accepted] = (await Promise.all([
    once(service.app.server, 'connection').then(([connection]) => connection),
    once(socket.pause(), 'connect'),
  ])) as [net.Socket, unknown]
  socket.on('error', () => {}).write(request.repeat(500)) // more than the socket buffers
  await once(accepted, 'close')
  t.pass('after the time for a request and for an response')
  socket.destroy()
})

t.test(
  'a request whose connection was reset is no error, and has its effect once if it is sent again',
  async (t) => {
    const service = await startService(t)
    const { app, log, origin } = service
    const { port } = new URL(origin)
    const reset = async (request: string) => {
      const socket = net.connect(Number(port), '127.0.0.1').on('error', () => {})
      const accepted = once(app.server, 'connection')
      socket.once('connect', () => socket.write(request, () => socket.resetAndDestroy()))
      const [connection] = await accepted // before the reset, or after it
      await until(() => connection.closed)
    }
    const head = ' HTTP/1.1\r\nHost: x\r\n\r\n'
    const requests = [`GET ${prefix}/pets${head}`, `GET ${prefix}/%zz${head}`, `GET /nothing${head}`]
    for (const request of requests.flatMap((each) => Array<string>(20).fill(each))) await reset(request)
    t.equal((await send(`${origin}/healthz`)).status, 200)

    const repeated = Array.from({ length: 20 }, (_, i) => `Idempotency-Key: ${i}`)
    for (const key of repeated) {
      const request = post(service, [key, `Content-Length: ${rex.length}`, 'Connection: close'], rex)
      await reset(request)
      let received: number[] = []
      await until(async () => {
        received = statuses(await sendRaw(origin, request))
        return received[0] !== 409 // the first is still under way
      })
      t.strictSame(received, [201], key)
    }
    t.equal(await count(service), repeated.length)
    t.strictSame(
      log.filter(({ level, status }) => Number(level) >= 50 || Number(status) >= 500),
      [],
    )
  },
)

t.test('thousands of connections that send nothing, or little, do not block others', async (t) => {
  const service = await startService(t)
  const { port } = new URL(service.origin)
  const openings = [
    '',
    `GET ${prefix}/pets HT`,
    `GET ${prefix}/pets HTTP/1.1\r\nHost: x\r\nX: `,
    post(service, ['Content-Length: 50'], '{'),
  ]
  const counts = { accepted: 0, closed: 0 }
  service.app.server.on('connection', () => counts.accepted++)
  const open = (opening: string) => {
    const socket = net.connect(Number(port), '127.0.0.1')
    socket.on('error', () => {}).on('close', () => counts.closed++)
    socket.write(opening)
    return socket
  }
  const sockets: net.Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  // At most as many at once as fit the shortest of the kernel's queues. Beyond it, Linux sends SYN cookies,
  // and resets a connection if it does not accept the cookie.
  for (let i = 0; i < 500; i += 25) {
    sockets.push(...Array.from({ length: 25 }, () => openings.map(open)).flat())
    await until(() => counts.accepted === sockets.length)
  }
  const began = process.cpuUsage()
  for (let i = 0; i < 20; i++) t.equal((await service.call('GET', '/pets')).status, 200)
  const worked = workedMs(began)
  t.ok(worked < 5_000, `${worked} ms of work for 20 requests`)
  t.equal(counts.closed, 0, 'while all of them are there')
})

t.test('connections beyond CONNECTIONS_MAX are closed, and the others keep working', async (t) => {
  const service = await startService(t, { env: { CONNECTIONS_MAX: '5', METRICS_PORT: '9464' } })
  const { port } = new URL(service.origin)
  const sockets = Array.from({ length: 5 }, () => net.connect(Number(port), '127.0.0.1').setEncoding('utf8'))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  for (let i = 0; i < 3; i++)
    t.equal(await sendRaw(service.origin, '').catch(() => ''), '', 'the sixth is closed without a word')
  const lines = service.log.filter(({ msg }) => String(msg).startsWith('connections refused'))
  t.match(lines, [{ level: 40, refused: 1 }], 'which the log tells once')
  const metrics = service.app.metricsServer as Server
  await once(metrics.listen(0, '127.0.0.1'), 'listening')
  const beside = `http://127.0.0.1:${(metrics.address() as net.AddressInfo).port}`
  t.match(
    (await send(`${beside}/metrics`)).text,
    /^animal_store_refused_connections_total{reason="connections_max"} 3$/m,
  )
  for (const path of ['/healthz', '/readyz'])
    await until(async () => (await send(beside + path)).body.status === 'ok') // by the metrics port
  sockets[0]?.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  const [response] = await once(sockets[0] as net.Socket, 'data')
  t.match(response, /^HTTP\/1.1 200 /)
  sockets[0]?.destroy()
  await once(sockets[0] as net.Socket, 'close')
})

t.test('hostile JSON bodies are refused quickly', async (t) => {
  const service = await startService(t)
  const { body: bytesMax } = contract.limits
  const fields = Array.from({ length: bytesMax / 12 }, (_, i) => `"${i}":1`).join()
  const cases: [title: string, body: string | Uint8Array, message: RegExp][] = [
    ['nested deeply', `{"name":${'['.repeat(bytesMax - 8)}`, /nested too deeply/],
    ['wide', `{${fields}}`, /body\[0\] is not a known field/],
    ['naming a field twice', '{"name":"Rex","name":"Rex","categoryId":1}', /twice/],
    ['with __proto__', '{"name":"Rex","categoryId":1,"__proto__":{"status":"sold"}}', /__proto__/],
    ['no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /UTF-8/],
    ['a string without end, of quotes', `["${'\\"'.repeat(Math.floor(bytesMax / 2) - 1)}`, /not valid JSON/],
  ]
  for (const [title, body, message] of cases) {
    const began = process.cpuUsage()
    const response = await service.call('POST', '/pets', { body })
    const worked = workedMs(began)
    t.match(response, { status: 400, body: { message } }, title)
    t.ok(worked < 2_000, `with ${worked} ms of work`)
  }
  t.equal((await send(`${service.origin}/healthz`)).status, 200)
})

t.test('no header takes more than linear time, on any kind of route', async (t) => {
  const allowed = 'https://page.example'
  const { origin, auth } = await startService(t, { env: { CORS_ORIGINS: allowed, TRUST_PROXY: 'true' } })
  const preflight = `Origin: ${allowed}\r\nAccess-Control-Request-Method: GET`
  const routes: [line: string, headers: string][] = [
    ['GET /docs/page.js', 'X: x'],
    ['GET /openapi.json', 'X: x'],
    [`GET ${prefix}/pets`, `Authorization: ${auth.authorization}`],
    [`OPTIONS ${prefix}/pets`, preflight],
    ['GET /nothing', 'X: x'],
    [`GET ${prefix}/%zz`, 'X: x'],
  ]
  const names =
    `Accept-Encoding: gzip|Accept: text/html|Content-Type: application/json|Cookie: a|Forwarded: for=|
    X-Forwarded-For: 1|traceparent: 00-|Range: bytes=|If-None-Match: "|Authorization: Bearer |X-Request-Id: a|
    Idempotency-Key: "|Access-Control-Request-Headers: a|Host: x`.split(/\|\s*/)
  const fillers = [' ', '\t', ',', ' ;', '"', '\\"', ' ; q=', '=', 'a', ';a="', 'a=b; ']
  for (const [i, start] of names.entries()) {
    // Two of them for each header by day.
    for (const filler of fillers.filter((_, j) => isNightly || j % 5 === i % 5)) {
      const header = start + filler.repeat((contract.limits.header - 1_000) / filler.length)
      for (const [line, others] of routes) {
        const host = start.startsWith('Host') ? '' : 'Host: x\r\n'
        const request = `${line} HTTP/1.1\r\n${host}${others}\r\nConnection: close\r\n${header}z\r\n\r\n`
        const worked = await leastWork(10, () => sendRaw(origin, request))
        if (worked > quickMs) t.fail(`${line} takes ${worked} ms with ${start}${filler}…`)
      }
    }
  }
})

// Quadratic time takes several times as long, an ordinary request a tenth of it.
const quickMs = 20

// The measured time may include other work of the process, so a slow action is repeated.
async function leastWork(tries: number, act: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < tries && least > quickMs; i++) {
    const began = process.cpuUsage()
    await act()
    least = Math.min(least, workedMs(began))
  }
  return least
}

t.test('bytes after an ambiguous request are not run, even if its target cannot be routed', async (t) => {
  const { origin, auth, log } = await startService(t)
  const host = `Host: localhost\r\nAuthorization: ${auth.authorization}\r\n`
  const inDoubt = `GET ${prefix}/pets/1%zz HTTP/1.1\r\n${host}Transfer-Encoding: gzip, chunked\r\n\r\n`
  const received = await sendRaw(origin, `${inDoubt}0\r\n\r\nGET ${prefix}/pets HTTP/1.1\r\n${host}\r\n`)
  t.match(received, /^HTTP\/1\.1 400 [\s\S]*\r\nconnection: close\r\n/i)
  t.equal(received.match(/HTTP\/1\.1/g)?.length, 1)
  t.strictSame(
    log.filter(({ status }) => status === 200),
    [],
  )
})
