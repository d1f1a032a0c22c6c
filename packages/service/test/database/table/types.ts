// Mistakes in a table that the compiler must refuse, each at its own line. `npm run types` fails where it
// accepts one: the @ts-expect-error is then unused.

import t from 'tap'
import type { Sql } from '../../../src/database/database.js'
import { int4, int8, json, nullable, numeric, optional, text } from '../../../src/database/table/columns.js'
import { table } from '../../../src/database/table/table.js'

interface Shown {
  readonly id: bigint
  readonly name: string
  readonly status?: 'new' | 'old'
  readonly note: string | null
  readonly size: number
  readonly owner: { readonly name: string }
}
type Taken = Omit<Shown, 'id' | 'owner'> & { readonly phone: string }

const shows = {
  id: int8(),
  name: text(),
  note: nullable(text()),
  size: int4(),
  owner: json<Shown['owner']>(),
}
const takes = { name: text(), note: nullable(text()), size: int4(), phone: text() }

const right = table<Shown, Taken>('right', {
  shows: { ...shows, status: optional(text()) },
  takes: { ...takes, status: optional(text()) },
})

// `Writable` makes a `readOnly` id like this. A filter may use any field of both types.
const written = table<Shown, Taken & { readonly id?: never }>('written', {
  shows: { ...shows, status: optional(text()) },
  takes: { ...takes, status: optional(text()) },
})

// Never called: only compiled.
export function slips(
  sql: Sql,
  query: { readonly limit: number; readonly status?: 'new' | 'old' },
  body: { readonly id?: never; readonly name?: string },
) {
  const list = right.pages({ order: ['id'], filters: { status: 'status' } })
  const wrong = right.pages({
    order: ['id'],
    // @ts-expect-error no such field; reported only here: the calls below compile
    filters: { status: 'sttus', note: 'note' },
  })
  return [
    wrong(sql, query),
    wrong(sql, { limit: 1, note: 'a' }),
    table<Shown, Taken>('a', {
      // @ts-expect-error a field without a column
      shows: { id: int8(), name: text(), note: nullable(text()), size: int4(), owner: json() },
      // @ts-expect-error a field that clients send, without a column
      takes: { name: text(), status: optional(text()), note: nullable(text()), size: int4() },
    }),
    table<Shown, Taken>('b', {
      shows: {
        ...shows,
        // @ts-expect-error another type: the field is a number
        size: int8(),
        // @ts-expect-error the field may be absent
        status: text(),
      },
      takes: {
        ...takes,
        // @ts-expect-error the field may be absent, and is never null
        status: nullable(text()),
        // @ts-expect-error the field may be null
        note: text(),
      },
    }),
    table<Shown, Taken>('c', {
      shows: {
        ...shows,
        status: optional(text()),
        // @ts-expect-error the field is always there
        name: optional(text()),
        // @ts-expect-error a string is no number
        size: numeric(),
        // @ts-expect-error no such field: it is stored, and must not be shown
        phone: text(),
      },
      takes: {
        ...takes,
        status: optional(text()),
        // @ts-expect-error no such field
        colour: text(),
      },
    }),
    table<Shown, Taken>('d', {
      // @ts-expect-error not even with other fields: the phone would be disclosed
      shows: { ...takes, ...shows, status: optional(text()) },
      takes: {
        ...takes,
        status: optional(text()),
        // @ts-expect-error the column's type has no codec
        size: 'integer',
      },
    }),
    table<Shown, Taken & { readonly id?: never }>('e', {
      shows: { ...shows, status: optional(text()) },
      takes: {
        ...takes,
        status: optional(text()),
        // @ts-expect-error the field is never sent
        id: int8(),
      },
    }),
    written.pages({ order: ['id'], filters: { from: ['id', '>='], phone: 'phone' } }),
    // @ts-expect-error may be absent: it has no position
    right.pages({ order: ['status'] }),
    // @ts-expect-error no such field
    right.pages({ order: ['-nmae'] }),
    // @ts-expect-error no such field
    right.pages({ order: ['id'], filters: { by: 'nmae' } }),
    right.pages({ order: ['id'], filters: { phone: 'phone', of: ['status', 'in'] } }),
    // @ts-expect-error no scalar
    right.findBy('owner'),
    list(sql, query),
    // @ts-expect-error the list would ignore the filter, and show everything
    list(sql, { ...query, phone: '1' }),
    // @ts-expect-error the list has no such filter
    list(sql, { limit: 1, sttus: 'new' }),
    // @ts-expect-error a page begins after an id, which is a bigint
    list(sql, { limit: 1, after: '1' }),
    right.pages({ order: ['-size', 'name'] })(sql, { limit: 1, after: 'a' }),
    // @ts-expect-error a position of several fields is a text
    right.pages({ order: ['-size', 'id'] })(sql, { limit: 1, after: 1n }),
    // @ts-expect-error nor is it of another type
    right.pages({ order: ['-size', 'name'] })(sql, { limit: 1, after: 1 }),
    right.pages({ order: ['-size', 'id'], position: 'row' })(sql, { limit: 1, after: 1n }),
    right.pages({ order: { id: ['id'], size: ['-size', 'id'] } })(sql, {
      limit: 1,
      order: 'size',
      after: 'a',
    }),
    // @ts-expect-error no such order
    right.pages({ order: { id: ['id'] } })(sql, { limit: 1, order: 'nmae' }),
    // @ts-expect-error no such field
    right.pages({ order: { id: ['di'] } }),
    // @ts-expect-error the list has one order
    list(sql, { limit: 1, order: 'id' }),
    right.updateBy('id')(sql, 1n, { name: 'a', status: null, note: null, phone: '1' }),
    // @ts-expect-error no such field
    right.updateBy('id')(sql, 1n, { nmae: 'a' }),
    // @ts-expect-error never null
    right.updateBy('id')(sql, 1n, { name: null }),
    // @ts-expect-error another type
    right.updateBy('id')(sql, 1n, { size: 'a' }),
    right.updateBy('id')(sql, 1n, { owner: {} }),
    right.updateBy('id')(sql, 1n, { owner: { name: null } }), // the response's schema decides
    // @ts-expect-error another type, within an object
    right.updateBy('id')(sql, 1n, { owner: { name: 1 } }),
    // @ts-expect-error no such name in an object
    right.updateBy('id')(sql, 1n, { owner: { nmae: 'a' } }),
    // @ts-expect-error the object is never null
    right.updateBy('id')(sql, 1n, { owner: null }),
    // @ts-expect-error the key is a bigint
    right.updateBy('id')(sql, '1', {}),
    // @ts-expect-error no scalar
    right.deleteBy('owner'),
    written.updateBy('id')(sql, 1n, body),
    table<Shown, Taken>('f', {
      shows: { ...shows, status: optional(text()) },
      takes: { ...takes, status: optional(text()) },
      // @ts-expect-error no number
      version: 'name',
    }),
  ]
}

t.pass('compiled')
