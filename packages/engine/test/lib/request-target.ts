// A query is read as Fastify's parser reads it, and split off where its router does, so that a validator, a
// link and a check see the same parameters.

import { createRequire } from 'node:module'
import Fastify from 'fastify'
import t from 'tap'
import { decodedOrSent, nameIn, pairsOf, queryOf } from '../../src/lib/request-target.js'
import { splitPair } from '../../src/lib/texts.js'

const require = createRequire(createRequire(import.meta.url).resolve('fastify'))
const { parse }: { parse(query: string): Record<string, unknown> } = require('fast-querystring')

const pieces = [
  ...[
    'a',
    'b',
    '=',
    '=',
    '&',
    '&',
    '+',
    '%20',
    '%41',
    '%2B',
    '%26',
    '%3D',
    '%00',
    'é',
    '%C3%A9',
    '__proto__',
  ],
  ...['[', '%5B', ']', '?', ';', '%FF', '%', '%0', '%E2%82'],
]

function read(query: string): Record<string, unknown> {
  const values: Record<string, string[]> = Object.create(null)
  for (const pair of pairsOf(query)) {
    const texts = values[nameIn(pair)] ?? []
    values[nameIn(pair)] = [...texts, decodedOrSent(splitPair(pair)[1])]
  }
  const entries = Object.entries(values).map(([name, texts]) => [name, texts.length > 1 ? texts : texts[0]])
  return Object.assign(Object.create(null), Object.fromEntries(entries))
}

t.test('names and values are those of the parser of Fastify', async (t) => {
  let seed = 5
  const below = (count: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31
    return Math.floor((seed / 2 ** 31) * count)
  }
  for (let run = 0; run < 30_000; run++) {
    const query = Array.from({ length: below(8) }, () => pieces[below(pieces.length)]).join('')
    if (JSON.stringify(read(query)) !== JSON.stringify(parse(query))) t.fail(query)
  }
})

t.test('the query begins where the router splits it off', async (t) => {
  const app = Fastify()
  app.get('/a', async (request) => ({ own: read(queryOf(request.url)), theirs: request.query }))
  for (const url of ['/a', '/a?', '/a?b', '/a?b=1?c=2', '/a?&b=/?&&', '/a?b=%23', '/a?b;c'])
    t.match(await app.inject(url), { statusCode: 200 }, url)
  for (const url of ['/a?b=1?c=2', '/a?x;y=1&&z']) {
    const { own, theirs } = (await app.inject(url)).json()
    t.strictSame(own, theirs, url)
  }
})
