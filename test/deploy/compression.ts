// The files of deploy/nginx and deploy/haproxy keep entity tags where compression is on: what a client has
// read with a tag, it changes with that.

import { startNotes } from 'contract-service/fixtures/notes'
import t, { type Test } from 'tap'
import { balancers, startBalancer } from '../fixtures/balancers.js'
import { type Answer, type Service, send } from '../fixtures/service.js'

/** The calls of a note of its own, through a balancer at that port. */
async function addNote({ origin, base, auth }: Service, port: number) {
  const notes = `http://127.0.0.1:${port}${base.slice(origin.length)}/notes`
  const added = await send(notes, 'POST', auth, { title: 'a', remark: 'b'.repeat(100) })
  const call = (method: string, headers: Record<string, string> = {}, body?: object) =>
    send(`${notes}/${added.body.id}`, method, { ...auth, ...headers }, body)
  const merge = { 'content-type': 'application/merge-patch+json' }
  return {
    call,
    read: () => call('GET'),
    change: (tag: string, title: string) => call('PATCH', { ...merge, 'if-match': tag }, { title }),
  }
}

const tagOf = ({ headers }: Answer) => headers.get('etag') ?? 'none'

async function checkTags(t: Test, service: Service, port: number, coding: string | null): Promise<void> {
  const { call, read, change } = await addNote(service, port)
  const first = await read()
  t.equal(first.headers.get('content-encoding'), coding)
  const tag = tagOf(first)
  t.match(await call('GET', { 'if-none-match': tag }), { status: 304, text: '' })
  const changed = await change(`"other", ${tag}`, 'c')
  t.match(changed, { status: 200, body: { title: 'c' } })
  for (const names of [tag, `W/${tag}`, `"other", ${tag}`, ''])
    t.match(await change(names, 'd'), { status: 412, body: { code: 'precondition_failed' } }, names)
  t.match(await change(tagOf(changed), 'e'), { status: 200, body: { title: 'e' } }, 'the tag of a change')
  t.match(await change('*', 'f'), { status: 200, body: { title: 'f' } })
  t.match(await call('DELETE', { 'if-match': tagOf(await read()) }), { status: 204 })
}

for (const balancer of balancers) {
  const { file, skip, compressing, tagLine, compresses } = balancer
  t.test(`behind ${file}, a note is changed by the tag of its read`, { skip }, async (t) => {
    const service = await startNotes(t, { TRUST_PROXY: 'loopback' })
    const start = (edit?: (text: string) => string) =>
      startBalancer(t, balancer, Number(new URL(service.origin).port), edit)
    t.test('without compression', async (t) => checkTags(t, service, await start(), null))
    t.test('with it', async (t) =>
      checkTags(t, service, await start(compressing), compresses ? 'gzip' : null),
    )
    t.test('but not without a line of the file', async (t) => {
      const { read, change } = await addNote(
        service,
        await start((text) => compressing(text).replace(tagLine, '')),
      )
      const first = await read()
      t.match(tagOf(first), /^W\/"/)
      t.equal(first.headers.get('content-encoding'), 'gzip')
      t.match(await change(tagOf(first), 'c'), { status: 412 })
    })
  })
}
