import t from 'tap'
import { linkTo } from '../../src/client/links.js'

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
  ['nonsense', 'next', undefined],
]
for (const [title, header, next] of cases) {
  t.test(`${title}: the next link is ${next ?? 'none'}`, async (t) => t.equal(linkTo('next', header), next))
}
