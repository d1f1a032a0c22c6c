import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { type FilePassword, passwordFrom } from '../../src/database/password-file.js'
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
    const passfile = passwordFrom(file, 'DATABASE_URL: passfile', { ...login, ...other }, String)
    passfile.refresh()
    t.equal(passfile(), password ?? '')
    const reason = ` (DATABASE_URL: passfile: ${file} has no line for db.example:5432:animal_store:service)`
    t.equal(explained(passfile, '28P01'), password === undefined ? `refused${reason}` : 'refused')
  })

function explained(passfile: FilePassword, code: string): string {
  const error = Object.assign(new Error('refused'), { code })
  passfile.explain(error)
  return error.message
}

t.test('a password file that is absent is named if a password was asked for, and refused', async (t) => {
  const file = path.join(temporaryDirectory(t), 'absent')
  const passfile = passwordFrom(file, 'DATABASE_URL: passfile', login, String)
  const refresh = () => {
    passfile.refresh()
    return passfile
  }
  t.equal(explained(refresh(), '28P01'), 'refused', 'by a server that asks for none')
  t.equal(refresh()(), '')
  t.match(
    explained(passfile, '28P01'),
    /^refused \(DATABASE_URL: passfile cannot be read: ENOENT.*absent'\)$/,
  )
  t.equal(explained(passfile, '53300'), 'refused', 'for another reason')
  writeFileSync(file, '*:*:*:*:secret')
  t.equal(refresh()(), 'secret')
  t.equal(explained(passfile, '28P01'), 'refused', 'with a password')
})
