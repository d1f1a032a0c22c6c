// Rows that are changed and deleted, one by one and concurrently, and lists that are read meanwhile.

import t from 'tap'
import type { Sql } from '../../../src/database/database.js'
import { inTransaction } from '../../../src/database/driver/transaction.js'
import { int4, int8, nullable, optional, text, timestamptz } from '../../../src/database/table/columns.js'
import { table } from '../../../src/database/table/table.js'
import { createDatabase, openPools } from '../../fixtures/service.js'

interface Note {
  readonly id: bigint
  readonly title: string
  readonly status?: 'new' | 'old'
  readonly remark: string | null
  readonly size: number
  readonly version: number
  readonly writtenAt: string
}
type NewNote = Omit<Note, 'id' | 'version'> & { readonly phone?: string }

const sent = {
  title: text(),
  status: optional(text<'new' | 'old'>()),
  remark: nullable(text()),
  size: int4(),
  writtenAt: timestamptz('written_at'),
}
const shows = { id: int8(), ...sent, version: int4() }
const takes = { ...sent, phone: optional(text()) }
const notes = table<Note, NewNote>('notes', { shows, takes })
const counted = table<Note, NewNote>('notes', { shows, takes, version: 'version' })
const kept = table<Note, NewNote>('notes', {
  ...{ shows, takes },
  where: 'deleted_at is null',
  deletion: 'deleted_at = now()',
})

const findNote = notes.findBy('id')
const change = notes.updateBy('id')
const remove = notes.deleteBy('id')
const count = counted.updateBy('id')
const hide = kept.deleteBy('id')

// Returns a note for each number; several share a size and a time.
function newNote(i: number): NewNote {
  const writtenAt = `2026-01-0${(i % 3) + 1}T00:00:00.00000${i % 7}Z`
  return { title: `note ${i}`, status: 'new', remark: null, size: i % 5, writtenAt, phone: String(i) }
}

t.test('rows', async (t) => {
  const sql = await createDatabase(t)
  await sql`create table notes (
    id bigint generated always as identity primary key, title varchar(20) not null, status text, remark text,
    size integer not null, written_at timestamptz not null, version integer not null default 1,
    phone text, deleted_at timestamptz)`
  const { reads, writes } = await openPools(t, sql)
  const added: Note[] = []
  const add = async (i: number) => {
    const note = await notes.insert(writes.sql, newNote(i))
    added.push(note)
    return note
  }
  const stored = async ({ id }: Note) =>
    (await sql`select title, status, remark, size, version, phone from notes where id = ${id}`)[0]

  t.test('are changed in the fields that are given, and in no other', async (t) => {
    const note = await add(1)
    const cases = [
      [{ title: 'other' }, { title: 'other' }],
      [{ size: 7, title: undefined }, { size: 7 }],
      [{ remark: 'so' }, { remark: 'so' }],
      [{ remark: null }, { remark: null }],
      [{ phone: '+49' }, {}],
    ] as const
    const expected: Record<string, unknown> = { ...note }
    for (const [changes, shown] of cases) {
      Object.assign(expected, shown)
      t.strictSame(await change(writes.sql, note.id, changes), expected, Object.keys(changes).join())
      t.strictSame(await findNote(reads.sql, note.id), expected)
    }
    t.match(await stored(note), { phone: '+49', status: 'new' })
  })

  t.test('lose a field that may be absent by null, as in a merge patch', async (t) => {
    const { status: _, ...rest } = await add(2)
    t.strictSame(await change(writes.sql, rest.id, { status: null, phone: null }), rest)
    t.match(await stored(rest), { status: null, phone: null })
  })

  t.test('stay as they are without a change', async (t) => {
    const note = await add(3)
    for (const changes of [{}, { title: undefined }]) {
      t.strictSame(await change(writes.sql, note.id, changes), note)
      t.strictSame(await count(writes.sql, note.id, changes), note, 'nor are they counted')
    }
  })

  t.test('that are not there are neither changed nor deleted', async (t) => {
    const any = { ifMatch: '*' }
    for (const condition of [undefined, any, { ifMatch: '"x"' }]) {
      t.equal(await change(writes.sql, 9_999n, { size: 1 }, condition), undefined)
      t.equal(await change(writes.sql, 9_999n, {}, condition), undefined)
      t.equal(await remove(writes.sql, 9_999n, condition), undefined)
    }
    t.equal(await change(writes.sql, 2n ** 70n, { size: 1 }), undefined, 'by a key that no row can have')
    t.equal(await remove(writes.sql, 2n ** 70n, any), undefined)
  })

  t.test('refuse a value that their columns do not store, and stay as they are', async (t) => {
    const note = await add(4)
    const cases = [
      [{ title: 'x'.repeat(21) }, 'body.title has a text that is too long'],
      [{ size: 2 ** 31, title: 'y' }, 'body.size has a number out of range'],
      [{ remark: 'a\0' }, 'body.remark has a character that no text can have'],
    ] as const
    for (const [changes, message] of cases)
      for (const condition of [undefined, { ifMatch: notes.etag(note) }])
        await t.rejects(change(writes.sql, note.id, changes, condition), { code: 'invalid_request', message })
    t.strictSame(await findNote(reads.sql, note.id), note)
  })

  t.test('refuse a change by an entity tag that they no longer have', async (t) => {
    const note = await add(5)
    const tag = notes.etag(note)
    t.match(tag, /^"[\w-]+"$/)
    const names = ['*', tag, ` ${tag} `, `"a,b", ${tag}`, `W/"x",${tag}`]
    for (const ifMatch of names)
      t.match(await change(writes.sql, note.id, { title: note.title }, { ifMatch }), note, ifMatch)
    const others = ['', '"x"', `W/${tag}`, tag.slice(1, -1), `"x", W/${tag}`, tag.toUpperCase()]
    const refusal = { code: 'precondition_failed' }
    for (const ifMatch of others) {
      await t.rejects(change(writes.sql, note.id, { size: 4 }, { ifMatch }), refusal, ifMatch)
      await t.rejects(remove(writes.sql, note.id, { ifMatch }), refusal, ifMatch)
    }
    const opaque = tag.slice(1, -1)
    for (const ifMatch of [
      `W/${tag}`,
      ...['gzip', 'br', 'zstd'].map((coding) => `"x", "${opaque}-${coding}"`),
    ])
      await t.rejects(
        change(writes.sql, note.id, { size: 4 }, { ifMatch }),
        { ...refusal, message: /a proxy that compresses rewrote it/ },
        ifMatch,
      )
    for (const ifMatch of ['"x"', 'W/"x-gzip"', `"${opaque}-x"`])
      await t.rejects(
        change(writes.sql, note.id, { size: 4 }, { ifMatch }),
        { ...refusal, message: /has been changed since/ },
        ifMatch,
      )
    const changed = await change(writes.sql, note.id, { size: 9 }, { ifMatch: tag })
    t.match(changed, { ...note, size: 9 })
    await t.rejects(change(writes.sql, note.id, { size: 8 }, { ifMatch: tag }), refusal)
    await t.rejects(change(writes.sql, note.id, {}, { ifMatch: tag }), refusal, 'without a change')
    t.strictSame(await findNote(reads.sql, note.id), changed)
    t.equal(notes.etag(changed as Note), notes.etag((await findNote(reads.sql, note.id)) as Note))
    t.strictSame(await remove(writes.sql, note.id, { ifMatch: notes.etag(changed as Note) }), changed)
    t.equal(await findNote(reads.sql, note.id), undefined)
  })

  t.test('differ in their tags if they differ in any field that they show', async (t) => {
    const note = await add(6)
    const others: Note[] = [
      { ...note, id: note.id + 1n },
      { ...note, title: 'other' },
      { ...note, remark: '' },
      { ...note, remark: 'null' },
      { ...note, version: 2 },
    ]
    const { status: _, ...rest } = note
    t.equal(new Set([note, rest, ...others].map(notes.etag)).size, 7)
  })

  t.test('count their changes, if they have a version, which is their tag', async (t) => {
    const note = await add(7)
    t.equal(counted.etag(note), '"1"')
    t.match(await count(writes.sql, note.id, { size: 3 }, { ifMatch: '"1"' }), { size: 3, version: 2 })
    await t.rejects(count(writes.sql, note.id, { size: 4 }, { ifMatch: '"1"' }), {
      code: 'precondition_failed',
    })
    t.match(await count(writes.sql, note.id, { phone: '1' }), { size: 3, version: 3 })
  })

  for (const [title, by, tagOf] of [
    ['a digest', change, notes.etag],
    ['a version', count, counted.etag],
  ] as const)
    t.test(`of two changes at once by the same tag, ${title}, one is refused`, async (t) => {
      for (let i = 0; i < 10; i++) {
        const note = await add(8)
        const condition = { ifMatch: tagOf(note) }
        const sizes = [11, 12]
        const settled = await Promise.allSettled(
          sizes.map((size) => by(writes.sql, note.id, { size }, condition)),
        )
        const [refused, ...others] = settled.filter(({ status }) => status === 'rejected')
        t.match([refused, others], [{ reason: { statusCode: 412 } }, []])
        const won = sizes[settled.findIndex(({ status }) => status === 'fulfilled')]
        t.match(await findNote(reads.sql, note.id), { size: won })
      }
    })

  t.test('of a change and a deletion at once by the same tag, one takes effect', async (t) => {
    for (let i = 0; i < 10; i++) {
      const note = await add(9)
      const condition = { ifMatch: notes.etag(note) }
      const [changed, deleted] = await Promise.allSettled([
        change(writes.sql, note.id, { size: 11 }, condition),
        remove(writes.sql, note.id, condition),
      ])
      const isThere = (await findNote(reads.sql, note.id)) !== undefined
      t.equal(changed.status === 'fulfilled' && changed.value !== undefined, isThere)
      t.equal(deleted.status === 'rejected', isThere)
    }
  })

  t.test('are changed within a transaction as the rest of it is', async (t) => {
    const note = await add(10)
    const condition = { ifMatch: notes.etag(note) }
    const failing = inTransaction(writes.sql, async (sql) => {
      await change(sql, note.id, { size: 30 }, condition)
      throw new Error('it fails')
    })
    await t.rejects(failing, { message: 'it fails' })
    t.strictSame(await findNote(reads.sql, note.id), note)
  })

  t.test('are never changed together by a field that is not unique', async (t) => {
    const [a] = [await add(11), await add(11)]
    const several = { message: 'several rows of "notes" have the same key' }
    const by = notes.updateBy('title')
    await t.rejects(
      inTransaction(writes.sql, (sql) => by(sql, 'note 11', { size: 40 })),
      several,
    )
    t.strictSame(await findNote(reads.sql, (a as Note).id), a)
  })

  t.test('that are deleted and stay visible show since when, the first time', async (t) => {
    interface Visible extends Note {
      readonly cancelledAt: string | null
    }
    const visible = table<Visible, NewNote>('notes', {
      shows: { ...shows, cancelledAt: nullable(timestamptz('deleted_at')) },
      takes,
      deletion: 'deleted_at = coalesce(deleted_at, now())',
    })
    const { id } = await add(13)
    const cancel = visible.deleteBy('id')
    const [first, second] = [await cancel(writes.sql, id), await cancel(writes.sql, id)]
    t.type(first?.cancelledAt, 'string')
    t.strictSame(second, first)
    t.strictSame(await visible.findBy('id')(reads.sql, id), first)
  })

  t.test('that are deleted softly are as if they were not there', async (t) => {
    const note = await add(12)
    t.strictSame(await hide(writes.sql, note.id), note)
    t.equal((await sql`select 1 from notes where id = ${note.id} and deleted_at is not null`).length, 1)
    t.equal(await kept.findBy('id')(reads.sql, note.id), undefined)
    t.equal(await kept.updateBy('id')(writes.sql, note.id, { size: 1 }), undefined)
    t.equal(await kept.updateBy('id')(writes.sql, note.id, { size: 1 }, { ifMatch: '*' }), undefined)
    t.equal(await hide(writes.sql, note.id), undefined, 'nor deleted again')
    const { items } = await kept.pages({ order: ['id'] })(reads.sql, { limit: 100 })
    t.equal(
      items.find(({ id }) => id === note.id),
      undefined,
    )
    t.ok(items.length > 5)
    t.strictSame(await findNote(reads.sql, note.id), note, 'for a table without the condition')
  })
})

t.test('lists go on while their rows are deleted', async (t) => {
  const sql = await createDatabase(t)
  await sql`create table notes (
    id bigint generated always as identity primary key, title text not null, status text, remark text,
    size integer not null, written_at timestamptz not null, version integer not null default 1,
    phone text, deleted_at timestamptz)`
  const { reads, writes } = await openPools(t, sql)
  const rows = 1_000

  const fill = async () => {
    await sql`truncate notes`
    await Promise.all(Array.from({ length: rows }, (_, i) => notes.insert(writes.sql, newNote(i))))
  }

  const orders = {
    id: ['id'],
    title: ['title'],
    size: ['size', 'id'],
    newest: ['-writtenAt', '-id'],
    mixed: ['-writtenAt', 'size', '-id'],
  } as const
  for (const [title, of, erase] of [
    ['removed', notes, remove],
    ['hidden', kept, hide],
  ] as const) {
    const alone = of.pages({ order: ['writtenAt', 'id'] })
    const named = of.pages({ order: orders })
    const lists: Record<
      string,
      (sql: Sql, page: { limit: number; after?: string }) => ReturnType<typeof alone>
    > = {
      'its only order': (sql, page) => alone(sql, page),
    }
    for (const order of Object.keys(orders) as (keyof typeof orders)[])
      lists[order] = (sql, page) => named(sql, { ...page, order })
    for (const [order, list] of Object.entries(lists))
      t.test(`${title}, by ${order}`, async (t) => {
        await fill()
        const seen = new Set<bigint>()
        let after: string | undefined
        do {
          const { items, next } = await list(reads.sql, { limit: 70, ...(after !== undefined && { after }) })
          for (const { id } of items) seen.add(id)
          await Promise.all(items.map(({ id }) => erase(writes.sql, id)))
          after = next
        } while (after !== undefined)
        t.equal(seen.size, rows, 'each row once')
        t.strictSame((await list(reads.sql, { limit: 1 })).items, [])
      })
  }

  t.test('and where the last row of a page has moved, go on from where it was', async (t) => {
    await fill()
    const list = notes.pages({ order: ['size', 'id'] })
    const first = await list(reads.sql, { limit: 100 })
    const expected = await list(reads.sql, { limit: 100, after: String(first.next) })
    const { id } = first.items.at(-1) as Note
    await change(writes.sql, id, { size: 1_000 })
    t.strictSame(await list(reads.sql, { limit: 100, after: String(first.next) }), expected)
  })

  t.test('and a link of the release before goes on from a row that is hidden by now', async (t) => {
    await fill()
    const list = kept.pages({ order: ['-size', 'id'] })
    const { items } = await list(reads.sql, { limit: 50 })
    const { id } = items.at(-1) as Note
    const expected = await list(reads.sql, { limit: 50, after: String(id) })
    await hide(writes.sql, id)
    t.strictSame(await list(reads.sql, { limit: 50, after: String(id) }), expected)
    await remove(writes.sql, id)
    await t.rejects(
      list(reads.sql, { limit: 50, after: String(id) }),
      { code: 'invalid_request' },
      'and is lost',
    )
  })

  t.test('and a constant condition of a list holds on each of its pages', async (t) => {
    await fill()
    const list = notes.pages({
      order: ['-size', 'id'],
      filters: { title: ['title', 'like'] },
      where: 'size > 3 or size < 1',
    })
    const sizes: number[] = []
    let after: string | undefined
    do {
      const page = await list(reads.sql, { limit: 30, title: 'note %', after })
      sizes.push(...page.items.map(({ size }) => size))
      after = page.next
    } while (after !== undefined)
    t.strictSame(sizes, [...Array(200).fill(4), ...Array(200).fill(0)])
  })
})
