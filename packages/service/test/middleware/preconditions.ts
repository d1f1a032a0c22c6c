// A row is changed only as its client has seen it: from the ETag of a read to the statement that changes it.

import t from 'tap'
import { preconditionAddition } from '../../src/middleware/preconditions.js'
import { contract, startNotes } from '../fixtures/notes.js'

t.test('a note', async (t) => {
  const { call, sql } = await startNotes(t)
  const add = async () => (await call('POST', '/notes', { body: { title: 'a', remark: 'b' } })).body
  const merge = { 'content-type': 'application/merge-patch+json' }
  const patch = (id: bigint, body: object, headers: Record<string, string> = {}) =>
    call('PATCH', `/notes/${id}`, { headers: { ...merge, ...headers }, body })
  const tagOf = async (id: bigint) => (await call('GET', `/notes/${id}`)).headers.get('etag') ?? ''

  t.test('is not changed without If-Match, where the contract declares 428', async (t) => {
    const { id } = await add()
    t.match(await patch(id, { title: 'c' }), {
      status: 428,
      body: { code: 'precondition_required', status: 428 },
    })
    t.match(await call('GET', `/notes/${id}`), { status: 200, body: { title: 'a' } })
    t.match(await patch(id, { title: 1 }), { status: 400 }, 'and its body is judged before')
    t.match(await call('PATCH', `/notes/${id}`, { headers: { ...merge, authorization: 'x' }, body: {} }), {
      status: 401,
    })
    t.match(
      await call('DELETE', `/notes/${id}`),
      { status: 204 },
      'and is deleted without, where it does not',
    )
  })

  t.test('is changed by the ETag of its read, once', async (t) => {
    const { id } = await add()
    const seen = { 'if-match': await tagOf(id) }
    const changed = await patch(id, { remark: null }, seen)
    t.strictSame([changed.status, changed.text], [200, `{"id":${id},"title":"a"}`])
    t.equal(changed.headers.get('etag'), await tagOf(id), 'and has the one of its next read')
    t.match(await patch(id, { remark: 'c' }, seen), { status: 412, body: { code: 'precondition_failed' } })
    t.match(await call('DELETE', `/notes/${id}`, { headers: seen }), { status: 412 })
    t.match(await call('DELETE', `/notes/${id}`, { headers: { 'if-match': await tagOf(id) } }), {
      status: 204,
    })
    t.match(await patch(id, {}, { 'if-match': '*' }), { status: 404 })
  })

  t.test(
    'is changed by a request whose key has met a failed precondition, once it was read again',
    async (t) => {
      const { id } = await add()
      const seen = await tagOf(id)
      await patch(id, { title: 'other' }, { 'if-match': seen })
      const keyed = { 'idempotency-key': `change-${id}` }
      t.match(await patch(id, { title: 'own' }, { ...keyed, 'if-match': seen }), { status: 412 })
      t.match(await patch(id, { title: 'own' }, { ...keyed, 'if-match': seen }), { status: 412 }, 'again')
      t.match(await patch(id, { title: 'own' }, keyed), { status: 428 })
      const fresh = { ...keyed, 'if-match': await tagOf(id) }
      t.match(await patch(id, { title: 'own' }, fresh), { status: 200, body: { title: 'own' } })
      const replayed = await patch(id, { title: 'own' }, fresh)
      t.match(replayed, { status: 200, body: { title: 'own' } }, 'which has its effect once')
      t.equal(replayed.headers.get('idempotent-replayed'), 'true')
      const latest = { ...keyed, 'if-match': await tagOf(id) }
      t.match(
        await patch(id, { title: 'x' }, latest),
        { status: 422 },
        'and from then on is that of this request',
      )
      // Stored in this way by the previous release.
      await sql`update idempotent_answers set status = 412 where idempotency_key = ${`change-${id}`}`
      t.match(await patch(id, { title: 'x' }, latest), { status: 200, body: { title: 'x' } })
      t.match(await patch(id, { title: 'x' }, latest), { status: 200, body: { title: 'x' } }, 'and is stored')
    },
  )

  t.test('of two changes at once by the same ETag, has one', async (t) => {
    const { id } = await add()
    const seen = { 'if-match': await tagOf(id) }
    const both = await Promise.all(['c', 'd'].map((title) => patch(id, { title }, seen)))
    t.strictSame(both.map(({ status }) => status).sort(), [200, 412])
    const won = both.find(({ status }) => status === 200)
    t.match(await call('GET', `/notes/${id}`), { body: won?.body })
  })

  t.test('is not sent again to a client that has its ETag', async (t) => {
    const { id } = await add()
    const known = { headers: { 'if-none-match': await tagOf(id) } }
    t.match(await call('GET', `/notes/${id}`, known), { status: 304, text: '' })
    await patch(id, { title: 'c' }, { 'if-match': '*' })
    t.match(await call('GET', `/notes/${id}`, known), { status: 200, body: { title: 'c' } })
  })

  t.test('refuses what its column does not store, and a key that no row can have', async (t) => {
    const { id } = await add()
    const any = { 'if-match': '*' }
    t.match(await patch(id, { title: 'x'.repeat(21) }, any), {
      status: 400,
      body: { code: 'invalid_request' },
    })
    t.match(await patch(2n ** 63n - 1n, { title: 'x' }, any), { status: 404 })
    t.match(await call('GET', `/notes/${id}`), { body: { title: 'a' } })
  })
})

t.test('the errors of If-Match are those of the operations that declare it', async (t) => {
  const codes = [...contract.operations.values()].map((operation) => [
    operation.id,
    ...(preconditionAddition.errors?.(operation, contract) ?? []).map(({ code }) => code),
  ])
  t.strictSame(codes.sort(), [
    ['addNote'],
    ['changeNote', 'precondition_failed', 'precondition_required'],
    ['deleteNote', 'precondition_failed'],
    ['getNote'],
  ])
})
