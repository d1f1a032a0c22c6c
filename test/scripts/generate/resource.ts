// A resource from its schema, as a newcomer creates it: in a copy with an edited contract, `generate
// --resource` writes the files, they compile, and their own tests pass on PostgreSQL.

import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import {
  type Change,
  copyCheckout,
  copyProject,
  edit,
  editContract,
  node,
  type Outcome,
  runTool,
} from '../../fixtures/copy.js'

const schemas = ['components', 'schemas']

// Adds paths, schemas and error codes to the contract.
function adding(text: string): Change {
  const { paths, components, codes } = parse(text)
  return (document) => {
    const add = (at: string[], all: object) => {
      for (const [name, value] of Object.entries(all))
        document.setIn([...at, name], document.createNode(value))
    }
    add(['paths'], paths)
    add(schemas, components)
    for (const code of Object.keys(codes)) document.addIn([...schemas, 'ErrorCode', 'enum'], code)
    add([...schemas, 'ErrorCode', 'x-enumStatuses'], codes)
  }
}

const errors = "default: { $ref: '#/components/responses/UnexpectedError' }"
const list = (name: string) =>
  `{ application/json: { schema: { type: array, items: { $ref: '#/components/schemas/${name}' } } } }`
const json = (name: string) => `{ application/json: { schema: { $ref: '#/components/schemas/${name}' } } }`
const next = "{ Link: { $ref: '#/components/headers/NextLink' } }"
const tag = '{ ETag: { schema: { type: string } } }'

// A field of each kind, and everything that an operation of a resource may have.
const toys = adding(`
codes: { toy_not_found: 404, toy_name_taken: 409, unknown_maker: 409, precondition_failed: 412, precondition_required: 428 }
paths:
  /toy-cars:
    get:
      operationId: listToys
      parameters:
        - { name: kind, in: query, schema: { $ref: '#/components/schemas/Kind' } }
        - { name: makerId, in: query, schema: { type: array, items: { type: integer, format: int64 } } }
        - { name: madeFrom, in: query, schema: { type: string, format: date } }
        - { name: sort, in: query, schema: { type: string, enum: [name, -madeAt, id], default: name } }
        - { name: limit, in: query, schema: { type: integer, minimum: 1, maximum: 100, default: 20 } }
        - { name: after, in: query, schema: { type: string } }
      responses: { '200': { description: Toys., headers: ${next}, content: ${list('Toy')} }, ${errors} }
    post:
      operationId: createToy
      requestBody: { required: true, content: ${json('NewToy')} }
      responses:
        '201': { description: Added., headers: { Location: { $ref: '#/components/headers/Location' } }, content: ${json('Toy')} }
        ${errors}
  /toy-cars/{toyId}:
    parameters: [{ name: toyId, in: path, required: true, schema: { type: string, format: uuid } }]
    get:
      operationId: getToy
      responses: { '200': { description: The toy., headers: ${tag}, content: ${json('Toy')} }, ${errors} }
    patch:
      operationId: updateToy
      parameters: [{ name: If-Match, in: header, schema: { type: string } }]
      requestBody: { required: true, content: { application/merge-patch+json: { schema: { $ref: '#/components/schemas/ToyPatch' } } } }
      responses:
        '200': { description: The toy., headers: ${tag}, content: ${json('Toy')} }
        '428': { $ref: '#/components/responses/UnexpectedError' }
        ${errors}
    delete:
      operationId: deleteToy
      responses: { '204': { description: It is deleted. }, ${errors} }
components:
  ToyBox:
    type: object
    required: [depth]
    properties:
      depth: { type: number }
      place: { type: object, required: [room], properties: { room: { type: string }, spot: { type: object, properties: { x: { type: number }, y: { type: number } } } } }
  Kind: { type: string, enum: [car, "o'ther"] }
  ToyFields:
    type: object
    required: [name, kind, price, parts, makerId]
    properties:
      name: { type: string, minLength: 1, maxLength: 50, x-unique: toy_name_taken }
      kind: { $ref: '#/components/schemas/Kind' }
      price: { type: string, format: decimal }
      weight: { type: number }
      count: { type: integer, format: int32, default: 1 }
      madeAt: { type: string, format: date }
      parts: { type: array, items: { type: string, enum: [wheel, door] } }
      box: { $ref: '#/components/schemas/ToyBox' }
      labels: { type: object, additionalProperties: { type: string } }
      isOld: { type: boolean }
      note: { type: [string, 'null'], maxLength: 50 }
      order: { type: integer, format: int64 }
      makerId: { type: integer, format: int64, x-references: { table: pets, code: unknown_maker } }
      code: { type: string, maxLength: 50 }
  NewToy: { allOf: [{ $ref: '#/components/schemas/ToyFields' }, { type: object, required: [madeAt], properties: { secret: { type: string, writeOnly: true } } }] }
  Toy:
    allOf:
      - $ref: '#/components/schemas/ToyFields'
      - type: object
        required: [id, version, createdAt, madeAt]
        properties:
          id: { type: string, format: uuid, readOnly: true }
          version: { type: integer, format: int32, readOnly: true }
          createdAt: { type: string, format: date-time, readOnly: true }
  ToyPatch:
    type: object
    additionalProperties: false
    properties:
      name: { type: string, minLength: 1, maxLength: 50 }
      note: { type: [string, 'null'], maxLength: 50 }
      code: { type: [string, 'null'], maxLength: 50 }
      labels: { type: [object, 'null'], additionalProperties: { type: [string, 'null'] } }
      box:
        type: [object, 'null']
        properties:
          depth: { type: [number, 'null'] }
          place:
            type: [object, 'null']
            properties:
              room: { type: string }
              spot: { type: [object, 'null'], properties: { x: { type: number }, y: { type: [number, 'null'] } } }
`)

// The minimum of a resource, and two operations that belong to no resource.
const boxes = adding(`
codes: { box_not_found: 404 }
paths:
  /boxes:
    get:
      operationId: listBoxes
      parameters:
        - { name: limit, in: query, schema: { type: integer, minimum: 1, maximum: 100, default: 20 } }
        - { name: after, in: query, schema: { type: integer, format: int64 } }
      responses: { '200': { description: Boxes., headers: ${next}, content: ${list('Box')} }, ${errors} }
    post:
      operationId: createBox
      requestBody: { required: true, content: ${json('Box')} }
      responses: { '201': { description: Added., content: ${json('Box')} }, ${errors} }
  /boxes/{id}:
    get:
      operationId: getBox
      parameters:
        - { name: id, in: path, required: true, schema: { type: integer, format: int64 } }
        - { name: unit, in: query, schema: { type: string } }
      responses: { '200': { description: The box., content: ${json('Box')} }, ${errors} }
    patch:
      operationId: changeBox
      parameters: [{ name: id, in: path, required: true, schema: { type: integer, format: int64 } }]
      requestBody: { required: true, content: { application/merge-patch+json: { schema: { type: object, properties: { lid: { type: object } } } } } }
      responses: { '204': { description: It is changed. }, ${errors} }
components:
  Box:
    type: object
    required: [id, width]
    properties:
      id: { type: integer, format: int64, readOnly: true }
      width: { type: number }
      lid: { type: object }
`)

// Forms that other authors choose: bodies without a name, a page without a default, a change that responds
// without a body.
const shelves = adding(`
codes: { shelf_not_found: 404 }
paths:
  /shelves:
    get:
      operationId: listShelves
      parameters:
        - { name: limit, in: query, schema: { type: integer, minimum: 1, maximum: 50 } }
        - { name: after, in: query, schema: { type: integer, format: int32 } }
        - { name: codes, in: query, schema: { type: array, items: { type: string } } }
        - { name: minWidth, in: query, schema: { type: number } }
      responses: { '200': { description: Shelves., headers: ${next}, content: ${list('Shelf')} }, ${errors} }
    post:
      operationId: createShelf
      requestBody: { required: true, content: { application/json: { schema: { type: object, required: [code, width, depth], properties: {
        code: { type: string, pattern: '^[A-Z]{2}-\\d{2}$' }, width: { type: number, exclusiveMinimum: 0 },
        depth: { type: [integer, 'null'], format: int32 }, tags: { type: array, items: { type: string } } } } } } }
      responses: { '200': { description: Added., content: ${json('Shelf')} }, ${errors} }
  /shelves/{shelf_id}:
    parameters: [{ name: shelf_id, in: path, required: true, schema: { type: integer, format: int32 } }]
    patch:
      operationId: changeShelf
      requestBody: { required: true, content: { application/json: { schema: { type: object, properties: { width: { type: number } } } } } }
      responses: { '204': { description: It is changed. }, ${errors} }
    put:
      operationId: replaceShelf
      responses: { '204': { description: It is replaced. }, ${errors} }
    delete:
      operationId: removeShelf
      responses: { '200': { description: What it was., content: ${json('Shelf')} }, ${errors} }
components:
  Shelf:
    type: object
    required: [shelf_id, code, width, depth]
    properties:
      shelf_id: { type: integer, format: int32 }
      code: { type: string }
      width: { type: number }
      depth: { anyOf: [{ type: integer, format: int32 }, { type: 'null' }] }
      tags: { type: array, items: { type: string } }
`)

function passes(t: Test, { code, stdout, stderr }: Outcome, title: string): void {
  t.equal(code, 0, title)
  if (code !== 0) t.comment(`${stdout}\n${stderr}`)
}

t.test('a proposed resource compiles, and its own tests pass', async (t) => {
  const copy = copyCheckout(temporaryDirectory(t))
  editContract(copy, toys, boxes, shelves)
  const propose = (name: string) => runTool(copy, 'generate', '--resource', name)
  const files = (stdout: string) =>
    stdout.split('\n').flatMap((line) => (line.endsWith('yours from now on') ? [line.split(' ')[0]] : []))

  const first = await propose('Toy')
  passes(t, first, 'Toy')
  t.strictSame(
    files(first.stdout).sort(),
    [
      'src/migrations/toy-cars/0007-toy-cars.sql',
      'src/handlers/toy-cars/toy-cars.ts',
      ...['createToy', 'getToy', 'listToys', 'updateToy', 'deleteToy'].map(
        (name) => `src/handlers/${name}.ts`,
      ),
      'test/handlers/toy-cars.ts',
    ].sort(),
  )
  const table = readFileSync(path.join(copy, 'src/handlers/toy-cars/toy-cars.ts'), 'utf8')
  t.match(table, /shows: \{[^}]* count: optional\(int4\(\)\),/, 'a response need not have what has a default')
  t.match(table, /takes: \{[^}]* count: int4\(\),/, 'a request always has it')
  const second = await propose('Box')
  passes(t, second, 'Box')
  t.strictSame(second.stderr.match(/left to you: .*/g), [
    'left to you: getBox: its parameter unit is not one of a resource',
    'left to you: changeBox: its field lid is merged, and no response with a body tells whether that is valid',
  ])
  t.match(readFileSync(path.join(copy, 'src/handlers/getBox.ts'), 'utf8'), 'notImplemented')
  const sql = readFileSync(path.join(copy, 'src/migrations/boxes/0008-boxes.sql'), 'utf8')
  t.match(sql, /id bigint generated always as identity primary key,\n {2}width double precision not null,\n/)
  const third = await propose('Shelf')
  passes(t, third, 'Shelf')
  t.strictSame(third.stderr.match(/left to you: .*/g), [
    'left to you: replaceShelf: its response is not a Shelf, nor an array of such',
  ])

  const tool = (name: string, ...args: string[]) => node(copy, [path.join('node_modules', name), ...args])
  passes(
    t,
    await tool('@biomejs/biome/bin/biome', 'check', '--vcs-enabled=false', 'src', 'test/handlers'),
    'lint',
  )
  const compile = ['-b', 'tsconfig.tests.json', '--stopBuildOnErrors']
  passes(t, await tool('@typescript/native/bin/tsc', ...compile), 'types')
  const tests = ['handlers/toy-cars', 'handlers/boxes', 'handlers/shelves', 'kept-data', 'handlers/tables']
  const built = tests.map((name) => `dist/test/${name}.js`)
  const run = ['-R', 'tap', '--node-arg=--enable-source-maps']
  passes(t, await tool('tap/dist/esm/run.mjs', ...run, ...built), 'tests')

  const again = await propose('Toy')
  t.equal(again.code, 1)
  t.match(again.stderr, 'src/handlers/createToy.ts is there already: nothing was written')
})

t.test('a resource is refused', async (t) => {
  const copy = copyProject(t)
  editContract(copy, toys)
  const refusals = [
    ['Nothing', /no schema Nothing: there are Pet, NewPet/],
    ['Error', /no operation adds, gets or lists an Error/],
    ['Pet', /src\/handlers\/createPet\.ts is there already: nothing was written/],
  ] as const
  for (const [name, message] of refusals) {
    const { code, stderr } = await runTool(copy, 'generate', '--resource', name)
    t.match({ code, stderr }, { code: 1, stderr: message }, name)
  }
  t.match(await runTool(copy, 'generate', '--check', '--resource', 'Toy'), {
    code: 2,
    stderr: /--check writes nothing/,
  })

  t.test('whole, if one of its files is there', async (t) => {
    edit(copy, 'src/handlers/getToy.ts', '/** ', '// Ours.\n/** ')
    const { code, stderr } = await runTool(copy, 'generate', '--resource', 'Toy')
    t.match(
      { code, stderr },
      { code: 1, stderr: 'src/handlers/getToy.ts is there already: nothing was written' },
    )
    t.notOk(existsSync(path.join(copy, 'src/handlers/toy-cars')))
    t.match(readFileSync(path.join(copy, 'src/handlers/createToy.ts'), 'utf8'), 'notImplemented(')
  })
})
