import t from 'tap'
import { linkTo, resolveLink } from '../src/links.js'

const cases: [title: string, header: string | null, next: string | undefined][] = [
  ['no header', null, undefined],
  ['an empty header', '', undefined],
  ['one link', '</v1/pets?limit=2&cursor=a>; rel="next"', '/v1/pets?limit=2&cursor=a'],
  ['another relation', '</v1/pets>; rel="successor-version"', undefined],
  ['the second of two', '</a>; rel="successor-version", </b>; rel="next"', '/b'],
  ['a relation without quotes', '</b>;rel=next', '/b'],
  ['one of several relations', '</b>; rel="last Next"', '/b'],
  ['other parameters', '</b>; title="a, b; <c>"; REL="next"; type=x', '/b'],
  ['commas in the target', '</b?x=1,2>; rel="next"', '/b?x=1,2'],
  ['a relation with the prefix next', '</b>; rel="nextish"', undefined],
  ['a relation in the title', '</b>; title="; rel=next"; rel=prev', undefined],
  ['an escaped quote before the relation', '</b>; title="\\"; rel=prev"; rel=next', '/b'],
  ['a second relation', '</b>; rel=prev; rel=next', undefined],
  ['nonsense', 'next', undefined],
]
for (const [title, header, next] of cases) {
  t.test(`${title}: the next link is ${next ?? 'none'}`, async (t) => t.equal(linkTo('next', header), next))
}

// From https://api.example/store/v1/toys/3/parts?limit=1, with the base URL https://api.example/store/v1.
const targets: [target: string, url: string | undefined][] = [
  ['?cursor=a', '/store/v1/toys/3/parts?cursor=a'],
  ['parts?cursor=a', '/store/v1/toys/3/parts?cursor=a'],
  ['./parts', '/store/v1/toys/3/parts'],
  ['../../pets', '/store/v1/pets'],
  ['/store/v1/pets', '/store/v1/pets'],
  ['https://api.example/store/v1?x', '/store/v1?x'],
  // Links to the path of the request, under a host or a prefix that the client does not know.
  ['/v1/toys/3/parts?cursor=a', '/store/v1/toys/3/parts?cursor=a'],
  ['http://127.0.0.1:3000/v1/toys/3/parts?cursor=a', '/store/v1/toys/3/parts?cursor=a'],
  ['https://other.example/a/b/toys/3/parts?cursor=a#b', '/store/v1/toys/3/parts?cursor=a'],
  ['//other.example/toys/3/parts', '/store/v1/toys/3/parts'],
  ['https://other.example/toys/4/parts?cursor=a', undefined],
  ['https://other.example/toys/3/parts/?cursor=a', undefined],
  ['https://a:b@other.example/store/v1/toys/3/parts', undefined],
  ['ftp://other.example/store/v1/toys/3/parts', undefined],
  ['/v1/pets', undefined],
  ['/store/v10/pets', undefined],
  ['../../../pets', undefined],
  ['/store/v1/%2e%2e/pets', undefined],
  ['//evil.example/store/v1/pets', undefined],
  ['http://api.example/store/v1/pets', undefined],
  ['https://a:b@api.example/store/v1/pets', undefined],
  ['https://[', undefined],
]
for (const [target, expected] of targets) {
  t.test(`the link ${target} leads to ${expected ?? 'nowhere'}`, async (t) => {
    const base = 'https://api.example/store/v1'
    const response = Object.defineProperty(new Response(), 'url', { value: `${base}/toys/3/parts?limit=1` })
    const resolve = () =>
      resolveLink(target, response, base, { id: 'x', method: 'GET', path: '/x', schemas: {} })
    if (expected !== undefined) t.equal(resolve(), `https://api.example${expected}`)
    else t.throws(resolve, { name: 'ApiError', code: 'unexpected_answer', message: /is not under https:/ })
  })
}
