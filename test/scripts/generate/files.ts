// The files that generate reads: of its two readers, the lint is the first.

import { execFileSync } from 'node:child_process'
import path from 'node:path'
import t from 'tap'
import { loadDocument } from '../../../scripts/generate/document.js'
import { lintFile } from '../../../scripts/generate/lint.js'
import { temporaryDirectory } from '../../fixtures/directory.js'

const contract = (ref: string) => `openapi: 3.1.0
info: {title: A, version: 1.0.0, license: {name: MIT, identifier: MIT}}
servers: [{url: 'http://localhost:3000'}]
security: []
paths: {}
components: {schemas: {A: {$ref: '${ref}'}}}
x-a: {$ref: '${ref}'}
`

t.test('the lint reads no file outside of the folder, and nothing but files', async (t) => {
  for (const [ref, reason] of [
    ['../other.yaml', "outside of the contract's folder"],
    ['fifo.yaml', 'no regular file'],
  ] as const) {
    const toys = { 'openapi.yaml': contract(ref) }
    const root = temporaryDirectory(t, { toys, 'other.yaml': 'type: string\n' })
    execFileSync('mkfifo', [path.join(root, 'toys', 'fifo.yaml')])
    const file = path.join(root, 'toys', 'openapi.yaml')
    const { resolver } = await loadDocument(file)
    await t.rejects(resolver.resolveDocument(file, ref), new RegExp(`the file is ${reason}`))
    t.match(
      (await lintFile(file)).errors,
      [`${path.relative(process.cwd(), file)}:6:24: `],
      'and the place is told',
    )
  }
})
