import t from 'tap'
import { callerId } from '../../src/middleware/caller-id.js'

t.test('the id of a caller with an API key is that of the key, by whichever scheme it came', (t) => {
  for (const scheme of ['apiKey', 'keyInQuery']) t.equal(callerId({ scheme, subject: '7', keyId: '7' }), '7')
  t.end()
})

t.test('the id of another caller is the one that earlier releases have stored', (t) => {
  t.equal(callerId({ scheme: 'jwt', subject: '7' }), 'FJpsDVH_LXtSkuFVBk8M_L6hg2pkDsIxY5o2T38Sop8')
  t.end()
})

t.test('no two callers have the same id, nor the id of a key', (t) => {
  const subjects = ['7', '', ' ', 'alice', 'Alice', 'alice ', 'älice', 'a}:minute', '\0', 'x'.repeat(100_000)]
  const ids = ['jwt', 'partner', '7'].flatMap((scheme) =>
    subjects.map((subject) => callerId({ scheme, subject })),
  )
  t.equal(new Set(ids).size, ids.length)
  for (const id of ids) t.match(id, /^[\w-]{43}$/, 'with no character that has a meaning where it is stored')
  t.end()
})
