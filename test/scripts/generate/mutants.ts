// Proves the worth of a proposed resource's tests: they must fail for each fault in its handlers, its table
// or its migration.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { type Change, copyCheckout, editContract, node, runTool } from '../../fixtures/copy.js'

const schemas = ['components', 'schemas']

const ref = (name: string) => `{ $ref: '#/components/schemas/${name}' }`
const json = (name: string) => `{ application/json: { schema: ${ref(name)} } }`
const rest = "default: { $ref: '#/components/responses/UnexpectedError' }"
const tag = '{ ETag: { schema: { type: string } } }'

// Returns the operations of a resource that has all kinds.
function operations(one: string, many: string, place: string, query: string): string {
  return `
  /${place}:
    get:
      operationId: list${many}
      parameters:
        - { name: limit, in: query, schema: { type: integer, minimum: 1, maximum: 100, default: 20 } }
        - { name: after, in: query, schema: { type: string } }
${query}
      responses:
        '200':
          description: A page.
          headers: { Link: { $ref: '#/components/headers/NextLink' } }
          content: { application/json: { schema: { type: array, items: ${ref(one)} } } }
        ${rest}
    post:
      operationId: create${one}
      requestBody: { required: true, content: ${json(one)} }
      responses:
        '201':
          description: Added.
          headers: { Location: { $ref: '#/components/headers/Location' } }
          content: ${json(one)}
        ${rest}
  /${place}/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: integer, format: int64 } }]
    get:
      operationId: get${one}
      responses: { '200': { description: It., headers: ${tag}, content: ${json(one)} }, ${rest} }
    patch:
      operationId: update${one}
      parameters: [{ name: If-Match, in: header, schema: { type: string } }]
      requestBody: { required: true, content: { application/merge-patch+json: { schema: ${ref(`${one}Patch`)} } } }
      responses:
        '200': { description: It., headers: ${tag}, content: ${json(one)} }
        '412': { $ref: '#/components/responses/UnexpectedError' }
        '428': { $ref: '#/components/responses/UnexpectedError' }
        ${rest}
    delete:
      operationId: delete${one}
      parameters: [{ name: If-Match, in: header, schema: { type: string } }]
      responses: { '204': { description: It is deleted. }, '412': { $ref: '#/components/responses/UnexpectedError' }, ${rest} }`
}

const contract = parse(`
codes: { visit_not_found: 404, store_not_found: 404, store_name_taken: 409, unknown_pet: 422,
  precondition_failed: 412, precondition_required: 428 }
paths:${operations(
  'Visit',
  'Visits',
  'visits',
  `        - { name: petId, in: query, schema: { type: integer, format: int64 } }
        - { name: kind, in: query, schema: { type: string, enum: [checkup, vaccination, surgery] } }
        - { name: startsFrom, in: query, schema: { type: string, format: date-time } }
        - { name: startsTo, in: query, schema: { type: string, format: date-time } }
        - { name: order, in: query, schema: { type: string, enum: [startsAt, -startsAt, minutes], default: startsAt } }`,
)}${operations(
  'Store',
  'Stores',
  'stores',
  `        - { name: city, in: query, schema: { type: array, items: { type: string } } }
        - { name: minSize, in: query, schema: { type: integer, format: int32 } }
        - { name: isOpen, in: query, schema: { type: boolean } }
        - { name: sort, in: query, schema: { type: string, enum: [name, -openedOn, id] } }`,
)}
components:
  Visit:
    type: object
    required: [id, petId, startsAt, minutes, kind, price, notes, tags, vetEmail]
    additionalProperties: false
    properties:
      id: { type: integer, format: int64, readOnly: true }
      petId: { type: integer, format: int64, x-references: { table: pets, code: unknown_pet } }
      startsAt: { type: string, format: date-time }
      minutes: { type: integer, format: int32, minimum: 5, maximum: 240 }
      kind: { type: string, enum: [checkup, vaccination, surgery] }
      price: { type: string, pattern: '^[0-9]{1,6}\\.[0-9]{2}$' }
      notes: { type: [string, 'null'], maxLength: 2000 }
      tags: { type: array, maxItems: 10, items: { type: string, minLength: 1, maxLength: 30 } }
      vetEmail: { type: string, format: email, maxLength: 200 }
      cancelledAt: { type: [string, 'null'], format: date-time, readOnly: true }
  VisitPatch:
    type: object
    additionalProperties: false
    properties:
      petId: { type: integer, format: int64 }
      startsAt: { type: string, format: date-time }
      minutes: { type: integer, format: int32, minimum: 5, maximum: 240 }
      kind: { type: string, enum: [checkup, vaccination, surgery] }
      notes: { type: [string, 'null'], maxLength: 2000 }
      tags: { type: array, maxItems: 10, items: { type: string, minLength: 1, maxLength: 30 } }
  Store:
    type: object
    required: [id, version, name, city, openedOn, size]
    additionalProperties: false
    properties:
      id: { type: integer, format: int64, readOnly: true }
      version: { type: integer, format: int32, readOnly: true }
      name: { type: string, minLength: 1, maxLength: 50, x-unique: store_name_taken }
      city: { type: string, minLength: 1, maxLength: 50 }
      openedOn: { type: string, format: date }
      size: { type: integer, format: int32 }
      isOpen: { type: boolean }
      phone: { type: string, maxLength: 20 }
      labels: { type: object, additionalProperties: { type: string } }
      place:
        type: object
        required: [country]
        additionalProperties: false
        properties:
          country: { type: string }
          zip: { type: string }
          spot: { type: object, required: [x], additionalProperties: false, properties: { x: { type: number }, y: { type: number } } }
  StorePatch:
    type: object
    additionalProperties: false
    properties:
      name: { type: string, minLength: 1, maxLength: 50 }
      phone: { type: [string, 'null'], maxLength: 20 }
      labels: { type: [object, 'null'], additionalProperties: { type: [string, 'null'] } }
      place:
        type: [object, 'null']
        additionalProperties: false
        properties:
          country: { type: [string, 'null'] }
          zip: { type: [string, 'null'] }
          spot: { type: [object, 'null'], properties: { x: { type: number }, y: { type: [number, 'null'] } } }
`)

const adding: Change = (document) => {
  for (const [name, value] of Object.entries(contract.paths))
    document.setIn(['paths', name], document.createNode(value))
  for (const [name, value] of Object.entries(contract.components))
    document.setIn([...schemas, name], document.createNode(value))
  for (const code of Object.keys(contract.codes)) document.addIn([...schemas, 'ErrorCode', 'enum'], code)
  for (const [code, status] of Object.entries(contract.codes))
    document.setIn([...schemas, 'ErrorCode', 'x-enumStatuses', code], status)
}

/** A fault: the file, or the folder of a single file, the text to replace, and its replacement. */
type Mutant = readonly [file: string, from: string | RegExp, to: string]

const table = (name: string) => `src/handlers/${name}/${name}.ts`
const handler = (name: string) => `src/handlers/${name}.ts`
const migration = (name: string) => `src/migrations/${name}/`

const mutants: Readonly<Record<string, readonly Mutant[]>> = {
  visits: [
    [table('visits'), "startsFrom: ['startsAt', '>=']", "startsFrom: ['startsAt', '<=']"],
    [table('visits'), "startsFrom: ['startsAt', '>=']", "startsFrom: ['startsAt', '>']"],
    [table('visits'), "startsTo: ['startsAt', '<=']", "startsTo: ['startsAt', '>=']"],
    [table('visits'), "startsTo: ['startsAt', '<=']", "startsTo: ['startsAt', '<']"],
    [table('visits'), "petId: 'petId'", "petId: 'id'"],
    [table('visits'), "petId: 'petId'", "petId: ['petId', '>=']"],
    [table('visits'), "kind: 'kind'", "kind: 'price'"],
    [table('visits'), "startsAt: ['startsAt', 'id']", "startsAt: ['-startsAt', 'id']"],
    [table('visits'), "startsAt: ['startsAt', 'id']", "startsAt: ['id']"],
    [table('visits'), "startsAt: ['startsAt', 'id']", "startsAt: ['startsAt']"],
    [table('visits'), "startsAt: ['startsAt', 'id']", "startsAt: ['startsAt', '-id']"],
    [table('visits'), "'-startsAt': ['-startsAt', '-id']", "'-startsAt': ['startsAt', 'id']"],
    [table('visits'), "'-startsAt': ['-startsAt', '-id']", "'-startsAt': ['-startsAt', 'id']"],
    [table('visits'), "minutes: ['minutes', 'id']", "minutes: ['startsAt', 'id']"],
    [table('visits'), /price: text\(\)/, "price: text('kind')"],
    [table('visits'), /price: text\(\)(?!.*price: text\(\))/s, "price: text('kind')"],
    [
      table('visits'),
      /price: text\(\),(.*)price: text\(\)/s,
      "price: text('vet_email'),$1price: text('vet_email')",
    ],
    [table('visits'), /text\('vet_email'\)/g, "text('kind')"],
    [table('visits'), /kind: text\(\)/g, "kind: text('price')"],
    [handler('createVisit'), '.catch(toCode)', ''],
    [handler('createVisit'), "'unknown_pet'", "'visit_not_found'"],
    [handler('createVisit'), 'visit.id', 'visit.petId'],
    [handler('updateVisit'), '.catch(toCode)', ''],
    [handler('updateVisit'), "ifMatch: headers['if-match']", ''],
    [handler('updateVisit'), 'visit_not_found', 'unknown_pet'],
    [handler('updateVisit'), /params\.id, body/, 'params.id, { ...body, kind: undefined }'],
    [handler('updateVisit'), 'visits.etag(visit)', '\'"1"\''],
    [handler('getVisit'), 'visit_not_found', 'unknown_pet'],
    [handler('getVisit'), 'visits.etag(visit)', '\'"1"\''],
    [handler('deleteVisit'), 'visit_not_found', 'unknown_pet'],
    [handler('deleteVisit'), "ifMatch: headers['if-match']", ''],
    [handler('listVisits'), 'next === undefined', 'true'],
    [handler('listVisits'), 'after: next', "after: ''"],
    [migration('visits'), /constraint visits_pet_id_fkey references pets \(id\)/, ''],
  ],
  stores: [
    [table('stores'), "city: ['city', 'in']", "city: ['name', 'in']"],
    [table('stores'), "minSize: ['size', '>=']", "minSize: ['size', '<=']"],
    [table('stores'), "isOpen: 'isOpen'", "isOpen: ['isOpen', '<=']"],
    [table('stores'), "name: ['name']", "name: ['-name']"],
    [table('stores'), "'-openedOn': ['-openedOn', '-id']", "'-openedOn': ['openedOn', 'id']"],
    [table('stores'), "id: ['id']", "id: ['-id']"],
    [table('stores'), /city: text\(\)/, "city: text('name')"],
    [table('stores'), /phone: optional\(text\(\)\)(?!.*phone: optional)/s, "phone: optional(text('city'))"],
    [handler('createStore'), '.catch(toCode)', ''],
    [handler('updateStore'), '.catch(toCode)', ''],
    [handler('updateStore'), /params\.id, body/, 'params.id, { ...body, place: undefined }'],
    [migration('stores'), /constraint stores_name_key unique/, ''],
  ],
}

function fileOf(copy: string, file: string): string {
  const place = path.join(copy, file)
  return file.endsWith('/') ? path.join(place, readdirSync(place)[0] ?? '') : place
}

// Applies a mutant, and returns a function that undoes it.
function mutate(copy: string, [file, from, to]: Mutant): () => void {
  const place = fileOf(copy, file)
  const text = readFileSync(place, 'utf8')
  const changed = text.replace(from, to)
  if (changed === text) throw new Error(`${file} does not contain ${from}`)
  writeFileSync(place, changed)
  return () => writeFileSync(place, text)
}

const program = (file: string) => ['--import=tsx/esm', file]

// Runs with a separate database server, named after its parent process, which is this one.
async function withServer<Result>(copy: string, run: () => Promise<Result>): Promise<Result> {
  const { code, stderr } = await node(copy, program('packages/service/test/fixtures/start-cluster.ts'))
  if (code !== 0) throw new Error(stderr)
  try {
    return await run()
  } finally {
    await node(copy, program('packages/service/test/fixtures/stop-cluster.ts'))
  }
}

function testOf(copy: string, name: string) {
  return node(copy, program(`test/handlers/${name}.ts`), { TAP_BAIL: '1' })
}

t.test('the tests of a proposed resource', async (t) => {
  const copy = copyCheckout(temporaryDirectory(t))
  editContract(copy, adding)
  for (const schema of ['Visit', 'Store']) {
    const { code, stderr } = await runTool(copy, 'generate', '--resource', schema)
    t.equal(code, 0, schema)
    t.notMatch(stderr, 'left to you', stderr)
  }
  await withServer(copy, async () => {
    for (const name of Object.keys(mutants)) {
      const { code, stdout, stderr } = await testOf(copy, name)
      if (code !== 0) t.comment(`${stdout}\n${stderr}`)
      t.equal(code, 0, `${name} pass without a fault`)
    }
  })
  if (!t.passing()) return
  for (const [name, all] of Object.entries(mutants)) await survivors(t, copy, name, all)
})

// Mutants of a migration need a separate server, because the template that tests clone is migrated.
async function survivors(t: Test, copy: string, name: string, all: readonly Mutant[]): Promise<void> {
  const left: Mutant[] = []
  const judge = async (mutant: Mutant) => {
    const { code } = await testOf(copy, name)
    t.comment(`${code === 0 ? 'survives' : 'is killed'}: ${mutant.join(' | ')}`)
    if (code === 0) left.push(mutant)
  }
  await withServer(copy, async () => {
    for (const mutant of all.filter(([file]) => file.endsWith('.ts'))) {
      const restore = mutate(copy, mutant)
      await judge(mutant).finally(restore)
    }
  })
  for (const mutant of all.filter(([file]) => !file.endsWith('.ts'))) {
    const restore = mutate(copy, mutant)
    await withServer(copy, () => judge(mutant)).finally(restore)
  }
  t.strictSame(left, [], `${all.length - left.length} of ${all.length} faults of ${name} fail them`)
}
