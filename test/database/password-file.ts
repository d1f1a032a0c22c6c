import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { passwordFrom } from '../../src/database/password-file.js'
import { temporaryDirectory } from '../fixtures/directory.js'

const login = { host: 'db.example', port: 5432, database: 'animal_store', user: 'service' }

const files: [title: string, text: string, password: string | undefined, login?: Partial<typeof login>][] = [
  ['each field', 'db.example:5432:animal_store:service:secret\n', 'secret'],
  ['no line break at the end', 'db.example:5432:animal_store:service:secret', 'secret'],
  ['line breaks of Windows', 'a:1:b:c:d\r\ndb.example:5432:animal_store:service:secret\r\n', 'secret'],
  ['wildcards', '*:*:*:service:secret', 'secret'],
  ['the first line that matches', '*:*:*:other:a\n*:*:*:*:b\n*:*:*:service:c', 'b'],
  ['comments and empty lines', '# a:b:c:d:e\n\n*:*:*:service:secret', 'secret'],
  [
    'escaped colons and backslashes',
    String.raw`*:*:a\:b\\c:service:p\:w\\d`,
    'p:w\\d',
    { database: 'a:b\\c' },
  ],
  ['an IPv6 address', String.raw`\:\:1:5432:*:*:secret`, 'secret', { host: '::1' }],
  ['spaces, which belong to the password', '*:*:*:*: se cret ', ' se cret '],
  [
    'localhost for the directory of a unix socket',
    'localhost:*:*:*:secret',
    'secret',
    { host: '/run/postgresql' },
  ],
  ['an empty password', '*:*:*:*:', ''],
  ['another host', 'db:5432:animal_store:service:secret', undefined],
  ['another port', 'db.example:5433:animal_store:service:secret', undefined],
  ['an escaped star, which is one', String.raw`\*:*:*:*:secret`, undefined],
  ['localhost for another host', 'localhost:*:*:*:secret', undefined],
  ['a line with too few fields', 'db.example:5432:animal_store:service', undefined],
  ['nothing', '', undefined],
]

for (const [title, text, password, other] of files)
  t.test(`a password file with ${title}`, async (t) => {
    const file = path.join(temporaryDirectory(t), 'passwords')
    writeFileSync(file, text)
    const read = () => passwordFrom(file, 'DATABASE_URL: passfile', { ...login, ...other }, String)()
    if (password !== undefined) t.equal(read(), password)
    else
      t.throws(read, {
        name: 'OperatorError',
        message: `DATABASE_URL: passfile: ${file} has no line for db.example:5432:animal_store:service`,
      })
  })
