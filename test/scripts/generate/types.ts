// The types of schemas, as the compiler checks them.

import { readFileSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { generateTypes } from 'contract-engine/generate'
import { toContract } from 'contract-engine/tools'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { checkTypes } from 'contract-service/tools/dev/types'
import t from 'tap'

const schemas = {
  Marked: { type: 'object', properties: { id: { type: 'integer', readOnly: true } } },
  OnlyNull: { type: 'object', required: ['a'], properties: { a: { type: 'null' } } },
  Pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], minItems: 2, items: false },
  Defining: {
    type: 'object',
    required: ['a'],
    properties: { a: { $ref: '#/components/schemas/Defining/$defs/A' } },
    $defs: { A: { type: 'string' } },
  },
  Largest: { const: 9223372036854775807n },
  Ends: { enum: [-9223372036854775808n, 1, 'a'] },
  Coded: {
    type: 'object',
    properties: { const: { type: 'integer' }, enum: { type: 'array', items: { type: 'integer' } } },
    default: { const: 9223372036854775807n },
    example: { enum: [9223372036854775807n] },
    examples: [{ const: 9223372036854775807n }],
  },
  Cat: { type: 'object', required: ['kind'], properties: { kind: { const: 'cat' } } },
  Dog: { type: 'object', required: ['kind'], properties: { kind: { enum: ['dog', 'hound'] } } },
  Pet: {
    oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }],
    discriminator: { propertyName: 'kind' },
  },
  One: { type: 'object', required: ['kind'], properties: { kind: { type: 'integer', const: 1 } } },
  Two: { type: 'object', required: ['kind'], properties: { kind: { type: 'integer', const: 2 } } },
  Numbered: {
    oneOf: [{ $ref: '#/components/schemas/One' }, { $ref: '#/components/schemas/Two' }],
    discriminator: { propertyName: 'kind', mapping: { 1: 'One', 2: 'Two' } },
  },
  Parent: {
    type: 'object',
    properties: { kind: { type: 'string' } },
    discriminator: { propertyName: 'kind', mapping: { a: '#/Elsewhere', b: 'other.yaml#/B' } },
  },
  Untyped: { required: ['a'], properties: { a: { items: { type: 'string' } } } },
  Contact: {
    type: 'object',
    properties: { email: { type: 'string' }, phone: { type: 'string' } },
    anyOf: [{ required: ['email'] }, { $ref: '#/components/schemas/Phoned' }],
  },
  Phoned: { required: ['phone'] },
  Named: {
    allOf: [{ type: 'object', properties: { name: { type: 'string' } } }, { required: ['name'] }],
  },
  Paid: {
    type: 'object',
    properties: { card: { type: 'string' } },
    dependentSchemas: { card: { properties: { code: { type: 'integer' } } } },
    if: { required: ['card'] },
    // biome-ignore lint/suspicious/noThenProperty: the keyword
    then: { properties: { owner: { type: 'string' } } },
    else: { allOf: [{ properties: { owner: { type: 'boolean' }, iban: { type: 'string' } } }] },
  },
  Doubled: {
    type: 'object',
    required: ['a'],
    properties: { a: { type: 'string', default: 'a' }, b: { type: 'string', default: 'b' } },
  },
  Reporting: { type: 'object', properties: { responses: { type: 'array', items: { type: 'string' } } } },
}

// Each line compiles only if the type is right.
const right = `import type { Coded, Contact, Defining, Doubled, Ends, Largest, Named, Numbered, OnlyNull, operations, Paid, Pair, Pet, paths, Readable, Reporting, Untyped, Writable } from './types.js'
export const written: Writable<OnlyNull> = { a: null }
export const read: Readable<OnlyNull> = { a: null }
export const pair: Readable<Pair> = ['a', 1]
// @ts-expect-error a tuple has its own number of items
export const triple: Writable<Pair> = ['a', 1, 2]
// @ts-expect-error and its own order
export const reversed: Readable<Pair> = [1, 'a']
export const defining: Defining = { a: 'a' }
export const largest: Largest = 9223372036854775807n
// @ts-expect-error the neighbour, which a double does not tell apart
export const neighbour: Largest = 9223372036854775806n
export const ends: Ends[] = [-9223372036854775808n, 1, 'a']
export const coded: Coded = { const: 1, enum: [1] }
export const pets: Pet[] = [{ kind: 'cat' }, { kind: 'hound' }]
// @ts-expect-error the name of the schema, which its const excludes
export const named: Pet = { kind: 'Cat' }
export const numbered: Numbered[] = [{ kind: 1 }, { kind: 2 }]
// @ts-expect-error a number as text
export const asText: Numbered = { kind: '1' }
export const untyped: Untyped = { a: ['a'] }
// @ts-expect-error an item of another type
export const mistyped: Untyped = { a: [1] }
export const reporting: Reporting = { responses: ['a'] }
// @ts-expect-error an item of another type
export const misreporting: Reporting = { responses: [1] }
export const doubled: Doubled = { a: 'a' }
// @ts-expect-error it is required, whatever its default
export const undoubled: Doubled = { b: 'b' }
export const same = (contact: Contact, named: Named): [Contact, Named] => [{ ...contact }, { ...named }]
export const contacts: Contact[] = [{ email: 'a' }, { phone: '1' }, { email: 'a', phone: '1' }]
// @ts-expect-error one of both is required
export const unreachable: Contact = {}
// @ts-expect-error a field of another type
export const misreachable: Contact = { email: 1 }
// @ts-expect-error it is required
export const unnamed: Named = {}
export const paid: Paid[] = [{ card: 'a', code: 1, owner: 'a' }, { owner: true, iban: 'a' }]
// @ts-expect-error a field of another type
export const mispaid: Paid = { iban: 1 }
export const percents: [paths['/a']['get'], paths['/b']['get']] extends [operations['a%20b'], operations['c%']] ? true : 0 = true
`

t.test('schemas have the types of their values', async (t) => {
  const responses = { 204: { description: 'Done.' } }
  const document = {
    openapi: '3.1.0',
    info: { title: 'Types', version: '1.0.0' },
    paths: {
      '/': { get: { operationId: 'get', responses } },
      '/a': { get: { operationId: 'a%20b', responses } },
      '/b': { get: { operationId: 'c%', responses } },
    },
    components: { schemas },
  }
  const types = generateTypes(toContract({ document, text: '' }).contract)
  const root = temporaryDirectory(t, {
    'package.json': '{"type":"module"}',
    'tsconfig.json': readFileSync(path.join(projectRoot, 'tsconfig.json'), 'utf8'),
    src: { 'check.ts': right, 'types.ts': types },
  })
  symlinkSync(path.join(projectRoot, 'node_modules'), path.join(root, 'node_modules'))
  t.strictSame(await checkTypes(root), { server: [], others: [] })
})
