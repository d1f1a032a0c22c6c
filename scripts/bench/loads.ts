// The loads: ready-made requests, byte for byte the same for every subject, and equivalent pgbench scripts.

import { randomUUID } from 'node:crypto'
import { byId, type PageAfter, statuses } from './pages.js'

/** A subject or a load, as named in flags and tables. */
export interface Titled {
  readonly name: string
  readonly title: string
}

export interface Load extends Titled {
  /** Only subjects with this feature are measured. */
  readonly needs?: Feature
  /** Returns a function whose every call returns the next request. */
  requests(target: Target): () => string
  /** True if its requests are for pages of lists. */
  readonly isPaged?: true
  /** The pgbench script. */
  readonly statement?: string
}

/** Features that not every subject has. */
export type Feature = 'api-keys' | 'idempotency-keys'

/** The database that requests are made for. */
export interface Target {
  readonly key: string
  /** Several API keys, beginning with `key`. */
  readonly keys: readonly string[]
  /** The number of animals; their ids are 1 to `rows`. */
  readonly rows: number
  /** Returns the path of a subject's page. Default: as in this contract. */
  readonly pageAfter?: PageAfter
}

const variants = 5_000
const columns = 'id, name, category_id, status'

const listPages: Load = {
  name: 'list-pages',
  title: 'List 20, of 5,000 pages',
  isPaged: true,
  requests: (target) => cycle(pages(target).map((path) => get(target.key, path))),
  statement: `\\set id random(1, :rows - 20)\nselect ${columns} from pets where id > :id order by id limit 20;`,
}

/** One animal, by its id. */
export const getAnimal: Load = {
  name: 'get',
  title: 'Get',
  requests: ({ key, rows }) => cycle(ids(rows).map((id) => get(key, `/v1/pets/${id + 1}`))),
  statement: `\\set id random(1, :rows)\nselect ${columns} from pets where id = :id;`,
}

const create: Load = {
  name: 'create',
  title: 'Create',
  requests: ({ key }) => cycle(newPets().map((body) => post(key, body))),
  statement: `insert into pets (name, category_id, status) values ('new pet', 3, 'available') returning ${columns};`,
}

const createKeyed: Load = {
  name: 'create-keyed',
  title: 'Create, with an Idempotency-Key',
  needs: 'idempotency-keys',
  requests: ({ key }) => {
    const next = cycle(newPets())
    return () => post(key, next(), `Idempotency-Key: ${randomUUID()}\r\n`)
  },
}

/** The loads of a comparison. */
export const loads: readonly Load[] = [
  listPages,
  {
    name: 'list-pages-by-status',
    title: 'List 20 by status, of 5,000 pages',
    isPaged: true,
    requests: (target) => cycle(pages(target, statuses).map((path) => get(target.key, path))),
    statement: `\\set id random(1, :rows - 200)\nselect ${columns} from pets where status = 'available' and id > :id order by id limit 20;`,
  },
  {
    name: 'list-pages-many-keys',
    title: 'List 20, of 5,000 pages, 16 API keys',
    needs: 'api-keys',
    isPaged: true,
    requests: (target) => cycle(pages(target).map((path, i) => get(at(target.keys, i), path))),
  },
  getAnimal,
  create,
  createKeyed,
]

/** The loads that need no feature, one request of each in turn. */
export const mixedLoad: Load = {
  name: 'mixed',
  title: 'Loads in turn',
  isPaged: true,
  requests: (target) => {
    const common = loads.filter(({ needs }) => needs === undefined)
    const next = cycle(common.map((load) => load.requests(target)))
    return () => next()()
  },
}

/** The loads of the overload benchmark: a read and a write. */
export const overloads: readonly Load[] = [listPages, create]

/** The loads that create, without a key and with one. */
export const creations: readonly Load[] = [create, createKeyed]

const depthPages = 1_000
const pageSize = 20

/** A load of lists that begin at or after a depth, of all animals or of one status. */
export function listFromDepth(depth: number, status: string | undefined): Load {
  return {
    name: `list-${status ?? 'all'}-${depth}`,
    title: status ?? 'all',
    requests: ({ key }) => {
      const depths = Array.from({ length: depthPages }, (_, i) => depth + i * pageSize)
      return cycle(depths.map((each) => get(key, byId(each, status))))
    },
  }
}

// Ids spread over the table, each far from its predecessor.
function ids(rows: number): number[] {
  return Array.from({ length: variants }, (_, i) => Math.floor((rows / variants) * ((i * 2_347) % variants)))
}

function pages(
  { rows, pageAfter = byId }: Target,
  ofStatuses: readonly (string | undefined)[] = [undefined],
): string[] {
  return ids(rows).map((id, i) => pageAfter(id, at(ofStatuses, i)))
}

function newPets(): string[] {
  return Array.from({ length: variants }, (_, i) =>
    JSON.stringify({ name: `new pet ${i}`, categoryId: i, status: at(statuses, i) }),
  )
}

function get(key: string, path: string): string {
  return `GET ${path} HTTP/1.1\r\n${headers(key)}\r\n`
}

function post(key: string, body: string, moreHeaders = ''): string {
  const length = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`
  return `POST /v1/pets HTTP/1.1\r\n${headers(key)}${moreHeaders}${length}\r\n${body}`
}

function headers(key: string): string {
  return `Host: localhost\r\nAuthorization: Bearer ${key}\r\nAccept: application/json\r\n`
}

function cycle<Each>(values: readonly Each[]): () => Each {
  let next = 0
  return () => at(values, next++)
}

// The index wraps around. The lists are never empty.
function at<Each>(values: readonly Each[], index: number): Each {
  return values[index % values.length] as Each
}
