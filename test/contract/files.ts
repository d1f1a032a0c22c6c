// Locations of parts of the contract, in YAML and JSON in any layout.

import path from 'node:path'
import t from 'tap'
import { readSource } from '../../src/contract/files.js'
import { temporaryDirectory } from '../fixtures/directory.js'

const document = { openapi: '3.1.0', tags: [{ name: 'a' }, { name: 'b' }], paths: { '/toys': { get: {} } } }

const layouts: [title: string, text: string, tag: string, path: string][] = [
  [
    'YAML',
    "openapi: 3.1.0\ntags:\n  - name: a\n  - name: b\npaths:\n  '/toys':\n    get: {}\n",
    ':4:5',
    ':6:3',
  ],
  ['JSON of many lines', JSON.stringify(document, null, 2), ':7:5', ':12:5'],
  ['JSON with CRLF', JSON.stringify(document, null, 2).replaceAll('\n', '\r\n'), ':7:5', ':12:5'],
  ['JSON of one line', JSON.stringify(document), ':1:41', ':1:64'],
  [
    'YAML in braces',
    "{openapi: 3.1.0,\ntags: [{name: a}, {name: b}],\npaths:\n {'/toys': {get: {}}}}",
    ':2:19',
    ':4:3',
  ],
]

for (const [title, text, tag, toys] of layouts) {
  t.test(`parts are located in ${title}`, async (t) => {
    const file = path.join(temporaryDirectory(t, { 'openapi.yaml': text }), 'openapi.yaml')
    const { locate } = await readSource(file)
    const shown = path.relative(process.cwd(), file)
    t.equal(locate(['tags', 1]), shown + tag)
    t.equal(locate(['paths', '/toys']), shown + toys)
    t.equal(locate(['paths', '/toys', 'put', 'responses', 200]), shown + toys, 'the parent of a missing part')
    t.equal(locate(['webhooks', 'made']), shown)
  })
}
