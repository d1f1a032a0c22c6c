// The files that generate reads. Of its two readers, the lint is the first.

import { execFileSync } from 'node:child_process'
import path from 'node:path'
import t from 'tap'
import { loadDocument } from '../../../tools/generate/document.js'
import { lintFile } from '../../../tools/generate/lint.js'
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

const documentWith = (field: string) =>
  contract('#/components/schemas/B').replace('schemas: {', `schemas: {B: {${field}}, `)

const unclear: [title: string, text: string, message: RegExp][] = [
  [
    'a tag of YAML',
    documentWith('description: !!binary aGk=, maxLenght: 1'),
    /:6:\d+: !!binary is no type of JSON$/,
  ],
  ['a conflict of git', `${documentWith('type: string')}<<<<<<< HEAD\n`, /:8:1: <<<<<<< is a marker of git/],
  [
    'a version that is a number',
    documentWith('').replace('3.1.0', '3.1'),
    /:1:1: openapi must be a text like '3.1.0', not the number 3.1$/,
  ],
]

for (const [title, text, message] of unclear) {
  t.test(`the lint names ${title}, with its place`, async (t) => {
    const root = temporaryDirectory(t, { 'openapi.yaml': text })
    await t.rejects(lintFile(path.join(root, 'openapi.yaml')), { name: 'ContractError', message })
  })
}

t.test('the lint says what replaces a keyword of another draft', async (t) => {
  const text = documentWith("$recursiveAnchor: true, items: [{$recursiveRef: '#'}]")
  const root = temporaryDirectory(t, { 'openapi.yaml': text })
  const { errors } = await lintFile(path.join(root, 'openapi.yaml'))
  t.match(errors, [
    /is not expected here. It is of another draft of JSON Schema: write \$dynamicAnchor, with a name. \(struct\)$/,
    /but got `array`. A schema for each of the first items is written as prefixItems. \(struct\)$/,
  ])
})
