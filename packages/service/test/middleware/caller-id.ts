import t from 'tap'
import { callerId, jointId } from '../../src/middleware/caller-id.js'

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

t.test('callers of one request have an id together, in any order, which none of them has alone', (t) => {
  const [key, ada] = [
    { scheme: 'apiKey', subject: '7', keyId: '7' },
    { scheme: 'jwt', subject: 'ada' },
  ]
  t.equal(jointId([key, ada]), jointId([ada, key]))
  t.equal(jointId([key, ada]), 'l4P6C2ck9oZjicPuRwyWeWOdbf59_C6_VH_xeuoX1sU')
  const others = [[key], [ada], [key, { ...ada, subject: 'eve' }], [{ ...key, keyId: '8' }, ada]]
  for (const each of others) t.not(jointId(each), jointId([key, ada]))
  t.not(jointId([key, { ...key, keyId: '8' }]), callerId({ scheme: '7', subject: '8' }))
  t.end()
})
