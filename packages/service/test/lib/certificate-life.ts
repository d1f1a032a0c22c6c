import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { PeerCertificate } from 'node:tls'
import t from 'tap'
import { firstToEnd, lifeOf, shortestLife } from '../../src/lib/certificate-life.js'
import { fixture } from '../fixtures/root.js'

const certificate = (valid_from: string, valid_to: string, issuerCertificate?: PeerCertificate) =>
  ({ valid_from, valid_to, issuerCertificate }) as PeerCertificate & { issuerCertificate?: PeerCertificate }

const root = certificate('Jan  1 00:00:00 2020 GMT', 'Jan  1 00:00:00 2040 GMT')
root.issuerCertificate = root
const ending = certificate('Jan  1 00:00:00 2020 GMT', 'Jan  1 00:00:00 2030 GMT', root)
const year = ['Mar  9 09:08:07 2029 GMT', 'Mar  9 09:08:07 2031 GMT'] as const

t.test('of a chain, the certificate counts that ends first', async (t) => {
  for (const [title, chain, from, until] of [
    ['its own', certificate(...year, root), Date.UTC(2029, 2, 9, 9, 8, 7), Date.UTC(2031, 2, 9, 9, 8, 7)],
    ['its authority’s', certificate(...year, ending), Date.UTC(2020, 0, 1), Date.UTC(2030, 0, 1)],
    ['a root’s', root, Date.UTC(2020, 0, 1), Date.UTC(2040, 0, 1)],
    [
      'one without a chain',
      certificate(...year),
      Date.UTC(2029, 2, 9, 9, 8, 7),
      Date.UTC(2031, 2, 9, 9, 8, 7),
    ],
  ] as const)
    t.strictSame(shortestLife(chain), { from, until }, title)
  t.equal(shortestLife({} as PeerCertificate), undefined, 'a peer without one')
  t.equal(firstToEnd([]), undefined)
})

t.test('the life of a certificate in a file', async (t) => {
  const pem = readFileSync(fixture('tls/name.pem'))
  const { from, until } = lifeOf(new X509Certificate(pem))
  t.ok(from < Date.now() && until > Date.now())
})
