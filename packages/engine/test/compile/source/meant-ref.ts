// A `$ref` without a target; the error suggests the probable one.

import path from 'node:path'
import t from 'tap'
import { readSource } from '../../../src/compile/source/files.js'

const components = { schemas: { Appointment: {}, Pet: {} }, responses: { NotFound: { description: 'N' } } }

const refs: [ref: string, meant: string | undefined][] = [
  ['#/components/schemas/Apointment', '#/components/schemas/Appointment'],
  ['#/components/schemas/pet', '#/components/schemas/Pet'],
  ['#/components/schema/Pet', '#/components/schemas/Pet'],
  ['#/Components/schemas/Pet', '#/components/schemas/Pet'],
  ['#/definitions/Pet', '#/components/schemas/Pet'],
  ['#/components/schemas/NotFound', '#/components/responses/NotFound'],
  ['#components/schemas/Pet', '#/components/schemas/Pet'],
  ['components/schemas/Pet', '#/components/schemas/Pet'],
  ['Pet', '#/components/schemas/Pet'],
  ['b.yaml#/Ovner', 'b.yaml#/Owner'],
  ['#/components/schemas/Customer', undefined],
  ['Customer', undefined],
]

for (const [ref, meant] of refs)
  t.test(`${ref} ${meant === undefined ? 'is like nothing' : `was meant to be ${meant}`}`, async (t) => {
    const paths = { '/a': { parameters: [{ name: 'q', in: 'query', schema: { $ref: ref } }] } }
    const text = JSON.stringify({ openapi: '3.1.0', paths, components }, null, 1)
    const files: Record<string, string> = { 'openapi.yaml': text, 'b.yaml': 'Owner: { type: string }\n' }
    const found = await readSource('openapi.yaml', async (file) => {
      return files[path.basename(file)] ?? Promise.reject(new Error(file))
    }).catch((error: Error) => error)
    t.match(found, { name: 'ContractError' })
    const [line, ...others] = (found as Error).message.split('\n')
    t.match(line, /^openapi\.yaml:9:6: cannot (?:resolve|read) /)
    t.equal(/: did you mean (\S+)\?$/.exec(String(line))?.[1], meant)
    t.strictSame(others, [])
  })
