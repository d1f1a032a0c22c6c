// Small readers that the client has because it has no engine: they must read the same as the engine's.

import { nameIn as nameOfEngine } from 'contract-engine/lib/request-target'
import { isSafe as isSafeForEngine, methodsOfNode, responseContent } from 'contract-engine/tools'
import t from 'tap'
import { nameIn } from '../src/credentials.js'
import { declaredFor, mediaTypeOf } from '../src/media-type.js'
import { isRepeatable, isSafe } from '../src/retry.js'

t.test('which methods are safe', async (t) => {
  for (const method of [...methodsOfNode, 'get', 'constructor']) {
    t.equal(isSafe(method), isSafeForEngine(method), method)
    if (isSafe(method)) t.ok(isRepeatable({ method, path: '/' }), method)
  }
})

t.test('what is declared for the media type of a response', async (t) => {
  const declared = [
    ['application/json', 'application/*+json', 'image/*'],
    ['application/problem+json', 'application/*'],
    ['text/csv', '*/*'],
    ['*/*', 'image/*', 'image/png'],
  ]
  const types = [
    ...['application/json', 'Application/JSON ; charset=utf-8', 'application/vnd.a+json', 'text/csv;a="; b"'],
    ...['application/problem+json', 'application/pdf', 'image/png', 'IMAGE/webp', 'image', 'text/html'],
    ...['constructor', '__proto__', 'application/json; a="/*"'],
  ]
  for (const names of declared)
    for (const type of types) {
      const own = declaredFor(
        Object.fromEntries(names.map((each) => [each, each])),
        mediaTypeOf(new Headers({ 'content-type': type })),
      )
      const contents = names.map((mediaType) => ({ mediaType }))
      t.equal(own, responseContent(contents, type)?.mediaType, `${names}: ${type}`)
    }
})

t.test('the name of a parameter in a query', async (t) => {
  for (const pair of ['a', 'a=b=c', 'a+b=1', 'a%20b', 'a%2Bb', '%E2%82+=1', '=1', '%61', 'é', '%'])
    t.equal(nameIn(pair), nameOfEngine(pair), pair)
})
