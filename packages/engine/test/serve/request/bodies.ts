import { contractWith, done, type Handler, startEngine } from 'contract-testing/engine'
import t from 'tap'

const form = {
  type: 'object',
  required: ['name', 'categoryId'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', minLength: 2 },
    categoryId: { type: 'integer', format: 'int64' },
    weight: { type: 'number', maximum: 100 },
    tame: { type: 'boolean', default: true },
    status: { enum: ['available', 'sold'] },
    tags: { type: 'array', maxItems: 3, items: { type: 'string' } },
    ids: { type: 'array', items: { type: 'integer', format: 'int64' } },
    born: { type: ['integer', 'null'] },
    address: {
      type: 'object',
      required: ['street'],
      properties: { street: { type: 'string' }, no: { type: 'integer' } },
    },
  },
}

const race = {
  type: 'object',
  properties: { constructor: { type: 'string' }, toString: { type: 'integer' } },
}

const upload = {
  type: 'object',
  required: ['photo'],
  additionalProperties: false,
  properties: {
    photo: { type: 'string', format: 'binary', maxLength: 8 },
    scans: { type: 'array', items: { type: 'string', contentMediaType: 'image/png' } },
    name: { type: 'string', maxLength: 5 },
    count: { type: 'integer', format: 'int64' },
    tags: { type: 'array', items: { type: 'string' } },
    address: form.properties.address,
  },
}

const odd = ['a"b', 'a%22c', 'a\r\nb', 'a%b', '%0a']

const urlencoded = 'application/x-www-form-urlencoded'

const body = (content: object, required = true) => ({ requestBody: { required, content }, responses: done })

t.test('bodies', async (t) => {
  const bodies: unknown[] = []
  let typeGiven: string | undefined
  const take: Handler = async (request, { contentType }) => {
    bodies.push(request.body)
    typeGiven = contentType
    return { status: 204 }
  }
  const contents: Record<string, object> = {
    text: { 'text/plain': { schema: { type: 'string', minLength: 2, maxLength: 5 } } },
    number: { 'text/plain': { schema: { type: 'integer', format: 'int64' } } },
    form: {
      [urlencoded]: {
        schema: form,
        encoding: { address: { contentType: 'application/json' }, ids: { style: 'form', explode: false } },
      },
    },
    multipart: {
      'multipart/form-data': { schema: upload, encoding: { scans: { contentType: 'image/png, image/gif' } } },
    },
    bytes: { 'application/octet-stream': { schema: { type: 'string', format: 'binary', maxLength: 4 } } },
    images: { 'image/*': {} },
    odd: {
      'multipart/form-data': {
        schema: {
          type: 'object',
          additionalProperties: false,
          properties: Object.fromEntries(odd.map((name) => [name, { type: 'string' }])),
        },
      },
    },
    versions: { 'text/plain; v=1': {}, 'text/plain; v="2"': {}, 'application/json': {} },
    races: {
      'application/json': { schema: { type: 'array', items: race } },
      [urlencoded]: { schema: race },
    },
    several: {
      'application/json': { schema: { type: 'object', required: ['a'] } },
      [urlencoded]: {
        schema: { type: 'object', required: ['b'], properties: { b: { type: 'integer' } } },
      },
      'text/csv': { schema: { type: 'string' } },
      'application/xml': { schema: { type: 'object', properties: { a: { type: 'string' } } } },
    },
  }
  const operations = Object.entries(contents).map(([name, content]) => [name, body(content)] as const)
  const optional = body({ 'text/plain': { schema: { type: 'string' } } }, false)
  const contract = await contractWith({ ...Object.fromEntries(operations), optional })
  const names = [...contract.operations.keys()]
  const { call } = await startEngine(t, contract, Object.fromEntries(names.map((name) => [name, take])))
  const post = (name: string, type: string, body: string | Uint8Array) =>
    call('POST', `/${name}`, { headers: { 'content-type': type }, body })

  const taken: [name: string, type: string, body: string | Uint8Array, value: unknown][] = [
    ['text', 'text/plain', 'Grüß', 'Grüß'],
    ['text', 'text/plain; charset=UTF-8', '\ufeffab', '\ufeffab'],
    ['text', 'text/plain; charset=us-ascii', '12345', '12345'],
    ['text', 'text/plain; charset=UTF8', 'é1', 'é1'],
    ['number', 'text/plain', '9223372036854775807', 9223372036854775807n],
    [
      'form',
      urlencoded,
      'name=R%C3%A9x+II&categoryId=9223372036854775807&weight=1.5&tame=false&status=sold&tags=a&tags=b%26&ids=1,-2&born=',
      {
        name: 'Réx II',
        categoryId: 9223372036854775807n,
        weight: 1.5,
        tame: false,
        status: 'sold',
        tags: ['a', 'b&'],
        ids: [1n, -2n],
        born: null,
      },
    ],
    ['form', urlencoded, 'name=100%&categoryId=1&', { name: '100%', categoryId: 1n, tame: true }],
    [
      'form',
      urlencoded,
      'name=12&categoryId=1&ids=&address={"street":"x","no":1}',
      {
        name: '12',
        categoryId: 1n,
        ids: [],
        address: { street: 'x', no: 1 },
        tame: true,
      },
    ],
    ['bytes', 'application/octet-stream', Buffer.from([0, 255, 1]), Buffer.from([0, 255, 1])],
    ['images', 'image/png', Buffer.from([0, 255]), Buffer.from([0, 255])],
    ['several', 'application/json', '{"a":1}', { a: 1 }],
    ['several', urlencoded, 'b=1', { b: 1 }],
    ['several', 'text/csv', 'a,b', 'a,b'],
  ]
  for (const [name, type, sent, value] of taken) {
    t.test(`${name} takes ${JSON.stringify(String(sent))}`, async (t) => {
      t.match(await post(name, type, sent), { status: 204 })
      t.strictSame(plain(bodies.pop()), value)
      t.equal(typeGiven, type.replace(/;.*/, ''))
    })
  }

  const unfit = 'must be UTF-8 without NUL'
  const refused: [name: string, type: string, body: string | Uint8Array, message: string][] = [
    ['text', 'text/plain', 'a', 'body must have at least 2 characters'],
    ['text', 'text/plain', 'abcdef', 'body must have at most 5 characters'],
    ['text', 'text/plain', '', 'body is required'],
    ['text', 'text/plain', 'ab\0', `body ${unfit}`],
    ['text', 'text/plain', Buffer.from([65, 66, 255]), `body ${unfit}`],
    ['number', 'text/plain', '1.5', 'body must be an integer'],
    ['form', urlencoded, '', 'body is required'],
    [
      'form',
      urlencoded,
      'x=1',
      'body.name is required; body.categoryId is required; body.x is not a known field',
    ],
    [
      'form',
      urlencoded,
      'name=R&categoryId=9223372036854775808&weight=x&tame=1&status=lost&tags=1&tags=2&tags=3&tags=4&ids=1,x&born=x&address={}',
      `body.name must have at least 2 characters; body.categoryId must be an integer from -9223372036854775808 to 9223372036854775807; body.weight must be a number; body.tame must be a boolean; body.status must be one of: available, sold; body.tags must have at most 3 items; body.ids[1] must be an integer; body.born must be an integer; body.address.street is required`,
    ],
    ['form', urlencoded, 'name=ab&name=cd&categoryId=1', 'body.name must be given once'],
    ['form', urlencoded, 'name=a%00&categoryId=%FF', `body.name ${unfit}; body.categoryId ${unfit}`],
    [
      'form',
      urlencoded,
      'name=ab&categoryId=1&address={"street":"x","no":"1"}',
      'body.address.no must be an integer',
    ],
    ['form', urlencoded, 'name=ab&categoryId=1&__proto__=1', 'body.__proto__ is not a known field'],
    ['form', urlencoded, '%FF=1', 'The body is not a valid form: it has a field without a name in UTF-8.'],
    ['bytes', 'application/octet-stream', '12345', 'body must have at most 4 bytes'],
    ['several', urlencoded, 'b=x', 'body.b must be an integer'],
  ]
  for (const [name, type, sent, message] of refused) {
    t.test(`${name} refuses ${JSON.stringify(String(sent))}: ${message}`, async (t) => {
      t.strictSame((await post(name, type, sent)).body, { code: 'invalid_request', message, status: 400 })
    })
  }

  const others: [name: string, type: string, message: string][] = [
    ['text', 'text/plain; charset=utf-16', 'The body must be of type text/plain, in UTF-8.'],
    ['text', 'text/html', 'The body must be of type text/plain, in UTF-8.'],
    ['form', 'multipart/form-data; boundary=x', `The body must be of type ${urlencoded}, in UTF-8.`],
    ['form', `${urlencoded}; charset=latin1`, `The body must be of type ${urlencoded}, in UTF-8.`],
    ['images', 'text/plain', 'The body must be of type image/*.'],
    [
      'several',
      'application/xml',
      `The body must be of type application/json or ${urlencoded} or text/csv, in UTF-8.`,
    ],
  ]
  for (const [name, type, message] of others) {
    t.test(`${name} refuses the type ${type}`, async (t) => {
      t.strictSame((await post(name, type, 'x')).body, {
        code: 'unsupported_media_type',
        message,
        status: 415,
      })
    })
  }

  t.test('a missing field with the name of an Object.prototype property is absent', async (t) => {
    const given = async (type: string, text: string) => {
      t.match(await post('races', type, text), { status: 204 })
      const [race] = [bodies.pop()].flat() as Record<string, unknown>[]
      return { constructor: race?.constructor, toString: race?.toString }
    }
    const missing = undefined
    t.strictSame(await given('application/json', '[{}]'), { constructor: missing, toString: missing })
    t.strictSame(await given('application/json', '[{"toString":1}]'), { constructor: missing, toString: 1 })
    t.strictSame(await given(urlencoded, 'constructor=a'), { constructor: 'a', toString: missing })
  })

  t.test('a body is read as the declaration that accepted its type, with its parameters', async (t) => {
    for (const type of ['text/plain; v=1', 'text/plain;v="1"', 'text/plain; V=2; a=b']) {
      t.match(await post('versions', type, 'ab'), { status: 204 }, type)
      t.equal(bodies.pop(), 'ab')
    }
    t.match(await post('versions', 'text/plain', 'ab'), { status: 415 })
  })

  t.test('an optional body may be absent', async (t) => {
    t.match(await call('POST', '/optional'), { status: 204 })
    t.equal(bodies.pop(), undefined)
    t.match(await post('optional', 'text/plain', 'x'), { status: 204 })
    t.equal(bodies.pop(), 'x')
  })

  t.test('a multipart form', async (t) => {
    const send = (...parts: Part[]) =>
      post('multipart', 'multipart/form-data; boundary="b o"', multipart('b o', parts))
    const photo: Part = [
      'name="photo"; filename="a.bin"',
      'application/octet-stream',
      Buffer.from([0, 13, 10, 255]),
    ]

    t.test('reaches the handler with its files as bytes', async (t) => {
      const scan = (type: string): Part => ['name="scans"; filename=x', type, Buffer.from(type)]
      const { status } = await send(
        photo,
        scan('image/png'),
        scan('image/gif'),
        ['name="name"', undefined, 'Réx'],
        ['name=count', 'text/plain; charset=utf-8', '9223372036854775807'],
        ['name="tags"', undefined, 'a'],
        ['name="address"', 'application/json', '{"street":"x","no":2}'],
      )
      t.equal(status, 204)
      t.strictSame(plain(bodies.pop()), {
        photo: Buffer.from([0, 13, 10, 255]),
        scans: [Buffer.from('image/png'), Buffer.from('image/gif')],
        name: 'Réx',
        count: 9223372036854775807n,
        tags: ['a'],
        address: { street: 'x', no: 2 },
      })
    })

    t.test('may come from a FormData of a browser or fetch', async (t) => {
      const data = new FormData()
      data.append('photo', new Blob(['1234']), 'x.bin')
      data.append('name', 'Rex')
      const request = new Request('http://x', { method: 'POST', body: data })
      const bytes = Buffer.from(await request.arrayBuffer())
      t.equal((await post('multipart', request.headers.get('content-type') ?? '', bytes)).status, 204)
      t.strictSame(plain(bodies.pop()), { photo: Buffer.from('1234'), name: 'Rex' })
    })

    t.test('may begin with an empty line or a preamble', async (t) => {
      const form = multipart('x', [['name=photo', undefined, '\r\n--y']])
      for (const preamble of ['\r\n', 'Parts follow. --x\r\n', '\r\n--\r\n']) {
        const body = Buffer.concat([Buffer.from(preamble), form])
        t.match(await post('multipart', 'multipart/form-data; boundary=x', body), { status: 204 }, preamble)
        t.strictSame(plain(bodies.pop()), { photo: Buffer.from('\r\n--y') })
      }
    })

    t.test('has the media types of its files', async (t) => {
      const types = [' Image/PNG ; a=b', 'image/gif']
      await send(photo, ...types.map((type): Part => ['name="scans"; filename=x', type, 'x']))
      const given = bodies.pop() as { photo: { type: string }; scans: { type: string }[] }
      t.equal(given.photo.type, 'application/octet-stream')
      t.strictSame(
        given.scans.map((each) => each.type),
        ['image/png', 'image/gif'],
      )
      await send(['name="photo"; filename="a"', undefined, 'x'])
      t.equal((bodies.pop() as typeof given).photo.type, undefined)
    })

    t.test('has no file where none was chosen, and one of no bytes where it has a name', async (t) => {
      const none = (name: string, file = 'filename=""'): Part => [`name="${name}"; ${file}`, octets, '']
      const octets = 'application/octet-stream'
      await send(photo, none('photo'), none('scans'), none('x'), none('scans', "filename*=UTF-8''"))
      t.strictSame(Object.keys(bodies.pop() as object), ['photo'])
      await send(
        none('photo', 'filename="a"'),
        ['name="scans"; filename=""', 'image/png', 'x'],
        none('scans'),
      )
      t.match(plain(bodies.pop()), { photo: Buffer.from(''), scans: [Buffer.from('x')] })
      t.equal((await send(none('photo'))).body.message, 'body.photo is required')
      t.equal((await send(none('photo', "filename*=utf-8'en'"))).body.message, 'body.photo is required')
    })

    t.test('may have the names of its fields as browsers write them', async (t) => {
      const data = new FormData()
      for (const name of odd) data.append(name, name)
      const request = new Request('http://x', { method: 'POST', body: data })
      const bytes = Buffer.from(await request.arrayBuffer())
      t.equal((await post('odd', request.headers.get('content-type') ?? '', bytes)).status, 204)
      t.strictSame(plain(bodies.pop()), Object.fromEntries(odd.map((name) => [name, name])))
    })

    t.test('may say that its parts are not encoded, and is refused if they are', async (t) => {
      const sendAs = (encoding: string, ...[head, type, text]: Part) =>
        send(photo, [head, `${type}\r\nContent-Transfer-Encoding: ${encoding}`, text])
      for (const encoding of ['7bit', '8BIT', 'binary']) {
        t.equal((await sendAs(encoding, 'name=name', 'text/plain', 'a=3D')).status, 204)
        t.match(bodies.pop(), { name: 'a=3D' })
      }
      for (const [name, head, type] of [
        ['name', 'name=name', 'text/plain'],
        ['scans[0]', 'name=scans; filename=x', 'image/png'],
        ['address', 'name=address', 'application/json'],
        ['tags[0]', 'name=tags', 'text/plain'],
      ] as const)
        for (const encoding of ['base64', 'Quoted-Printable', 'x-uuencode'])
          t.equal(
            (await sendAs(encoding, head, type, 'eA==')).body.message,
            `body.${name} must be sent as it is, without the Content-Transfer-Encoding ${encoding}`,
          )
    })

    const wrong: [message: string, ...parts: Part[]][] = [
      ['body.photo is required', ['name="name"', undefined, 'Rex']],
      ['body.photo must have at most 8 bytes', ['name="photo"', undefined, '123456789']],
      ['body.photo must be given once', photo, photo],
      [
        'body.scans[0] must be of type image/png or image/gif',
        photo,
        ['name=scans; filename=x', 'image/jpeg', 'x'],
      ],
      [
        'body.scans[0] must be of type image/png or image/gif',
        photo,
        ['name=scans; filename=x', undefined, 'x'],
      ],
      [
        'body.name must have at most 5 characters; body.count must be an integer; body.address.street is required',
        photo,
        ['name=name', undefined, '123456'],
        ['name=count', undefined, '1.5'],
        ['name=address', undefined, '{}'],
      ],
      [`body.name ${unfit}`, photo, ['name=name', undefined, Buffer.from([255])]],
      [`body.name ${unfit}`, photo, ['name=name', 'text/plain; charset=utf-16', 'ab']],
      ['body.x is not a known field', photo, ['name=x; filename=y', undefined, 'z']],
      [
        'The body is not a valid form: it has a field without a name in UTF-8.',
        ['filename=x', undefined, 'x'],
      ],
    ]
    for (const [message, ...parts] of wrong) {
      t.test(`is refused: ${message}`, async (t) => {
        t.match((await send(...parts)).body, { code: 'invalid_request', status: 400 })
        t.ok((await send(...parts)).body.message.includes(message), message)
      })
    }

    t.test('is refused if it is malformed', async (t) => {
      const part = (boundary: string, name: string) =>
        `--${boundary}\r\nContent-Disposition: form-data; name=${name}\r\n\r\nabc\r\n`
      const long = 'x'.repeat(71)
      const malformed: [boundary: string, body: string, reason: RegExp][] = [
        ['', 'x', /its Content-Type names no boundary/],
        ['; boundary=', '----', /its Content-Type names no boundary/],
        [
          `; boundary=${long}`,
          `${part(long, 'photo')}--${long}--`,
          /its boundary is longer than 70 characters/,
        ],
        [`; boundary="${long}"`, `${part(long, 'photo')}--${long}--`, /its boundary is longer than 70/],
        ['; boundary=x', 'x', /none of its lines is its boundary/],
        ['; boundary=x', part('x', 'photo'), /not finished/],
        ['; boundary=x', `${part('x', 'photo')}--x`, /not finished/],
        ['; boundary=x', '--x\r\nabc\r\n--x--', /it has a part without headers/],
        // Each would be lost in the headers of the next part.
        ['; boundary=x', `--x\r\n\r\nabc\r\n${part('x', 'photo')}--x--`, /it has a part without headers/],
        ['; boundary=x', `--x \r\n\r\nabc\r\n${part('x', 'photo')}--x--`, /it has a part without headers/],
        ['; boundary=x', `--x\r\nA: b\r\n${part('x', 'photo')}--x--`, /it has a part without headers/],
        [
          '; boundary=x',
          `${part('x', 'photo')}--xyz\r\n--x--`,
          /a line begins with its boundary, and goes on/,
        ],
      ]
      for (const [boundary, body, reason] of malformed) {
        const { status, body: error } = await post('multipart', `multipart/form-data${boundary}`, body)
        t.match({ status, error }, { status: 400, error: { code: 'invalid_request' } }, body)
        t.match(error.message, reason)
      }
    })

    t.test('may have spaces behind a boundary, and the longest boundary', async (t) => {
      const long = 'x'.repeat(70)
      const spaced = '--x \t\r\nContent-Disposition: form-data; name=photo\r\n\r\nabc\r\n--x-- '
      for (const [boundary, body] of [
        ['x', spaced],
        [long, spaced.replaceAll('--x', `--${long}`)],
      ] as const)
        t.match(await post('multipart', `multipart/form-data; boundary=${boundary}`, body), { status: 204 })
      t.strictSame(plain(bodies.pop()), { photo: Buffer.from('abc') })
    })

    t.test('has the boundary of its parameter, whatever the texts in quotes say', async (t) => {
      for (const parameters of ['a="; boundary=y"; boundary=x', 'boundary="\\x"', 'boundary=x; utf-8'])
        t.match(await post('multipart', `multipart/form-data; ${parameters}`, multipart('x', [photo])), {
          status: 204,
        })
      const java = '----=_Part_0_1.2'
      t.match(await post('multipart', `multipart/form-data; boundary=${java}`, multipart(java, [photo])), {
        status: 204,
      })
      const twice = await post('multipart', 'multipart/form-data; boundary=x; boundary=y', '--x--')
      t.match(twice, { status: 415, body: { code: 'unsupported_media_type', message: /a parameter twice/ } })
    })

    t.test('has parts whose headers are read as its own are', async (t) => {
      const name = (type: string, disposition = 'name=name') => send(photo, [disposition, type, 'ab'])
      for (const type of ['text/plain; a="; charset=utf-16"', 'text/plain; charset="utf\\-8"'])
        t.match(await name(type), { status: 204 }, type)
      const empty = [`name="photo"; filename*=UTF-8''`, undefined, ''] as const
      t.match(await send(photo, empty), { status: 204 }) // no file was chosen
      const quoted = await send([`name="photo"; a="; filename*=UTF-8''"`, undefined, ''], photo)
      t.match(quoted.body, { message: 'body.photo must be given once' })
      const message = /the headers of a part are ambiguous/
      for (const [type, disposition] of [
        ['text/plain; charset=utf-8; charset=utf-16', undefined],
        ['text/plain', 'name=name; name=count'],
      ] as const)
        t.match(await name(type, disposition), { status: 400, body: { code: 'invalid_request', message } })
    })

    t.test('is limited in bytes like any body, and in parts', async (t) => {
      const large = await send(['name=photo', undefined, 'x'.repeat(contract.limits.body)])
      t.match(large, { status: 413, body: { code: 'body_too_large' } })
      const many: Part[] = Array.from({ length: 1001 }, () => ['name=t', undefined, ''])
      t.match(await send(...many), { status: 400, body: { code: 'invalid_request', message: /1000/ } })
    })
  })
})

type Part = readonly [disposition: string, type: string | undefined, content: string | Uint8Array]

function multipart(boundary: string, parts: readonly Part[]): Buffer {
  const chunks = parts.flatMap(([disposition, type, content]) => [
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`,
    type === undefined ? '' : `Content-Type: ${type}\r\n`,
    '\r\n',
    content,
    '\r\n',
  ])
  return Buffer.concat([...chunks, `--${boundary}--\r\n`].map((each) => Buffer.from(each as string)))
}

// Copies an object, to give it a prototype.
function plain(value: unknown): unknown {
  return typeof value === 'object' && value !== null && !Buffer.isBuffer(value) ? { ...value } : value
}
