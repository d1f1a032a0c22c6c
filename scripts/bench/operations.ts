// What is asked of every subject: the same requests, byte for byte, and pgbench's form of the same statements.

import { writeCursor } from '../../src/handlers/listPets.js'

export interface Operation {
  readonly name: string
  readonly title: string
  /** Whole requests, to be sent in turn. */
  requests(key: string, rows: number): string[]
  /** What pgbench is to run. */
  readonly statement: string
}

const variants = 5_000
const columns = 'id, name, category_id, status'

export const operations: readonly Operation[] = [
  {
    name: 'list',
    title: 'List 20',
    requests: (key) => [get(key, '/v1/pets')],
    statement: `select ${columns} from pets where id > 0 order by id limit 20;`,
  },
  {
    name: 'list-by-status',
    title: 'List 20 by status',
    requests: (key) => statuses.map((status) => get(key, `/v1/pets?status=${status}`)),
    statement: `select ${columns} from pets where status = 'available' and id > 0 order by id limit 20;`,
  },
  {
    name: 'list-pages',
    title: 'List 20, of 5,000 pages',
    requests: (key, rows) => each((i) => get(key, `/v1/pets?cursor=${cursorAfter(spread(i, rows))}`)),
    statement: `\\set id random(1, :rows - 20)\nselect ${columns} from pets where id > :id order by id limit 20;`,
  },
  {
    name: 'get',
    title: 'Get',
    requests: (key, rows) => each((i) => get(key, `/v1/pets/${1 + spread(i, rows)}`)),
    statement: `\\set id random(1, :rows)\nselect ${columns} from pets where id = :id;`,
  },
  {
    name: 'create',
    title: 'Create',
    requests: (key) =>
      each((i) =>
        post(key, '/v1/pets', { name: `new pet ${i}`, categoryId: i, status: statuses[i % statuses.length] }),
      ),
    statement: `insert into pets (name, category_id, status) values ('new pet', 3, 'available') returning ${columns};`,
  },
]

const statuses = ['available', 'pending', 'sold']

// An id, far from those before it.
function spread(i: number, rows: number): number {
  return Math.floor((rows / variants) * ((i * 2_347) % variants))
}

function each(make: (i: number) => string): string[] {
  return Array.from({ length: variants }, (_, i) => make(i))
}

/** A client follows links; walking to the middle of the table would take the run, so the cursor is made here. */
export function cursorAfter(id: number, status?: string): string {
  return writeCursor(BigInt(id), status)
}

/** A whole GET request. */
export function get(key: string, path: string): string {
  return `GET ${path} HTTP/1.1\r\n${headers(key)}\r\n`
}

function post(key: string, path: string, body: object): string {
  const json = JSON.stringify(body)
  return `POST ${path} HTTP/1.1\r\n${headers(key)}Content-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`
}

function headers(key: string): string {
  return `Host: localhost\r\nAuthorization: Bearer ${key}\r\nAccept: application/json\r\n`
}
