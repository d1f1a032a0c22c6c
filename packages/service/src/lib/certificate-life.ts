// How long a certificate is valid, so that operators can renew it before connections fail.

import type { X509Certificate } from 'node:crypto'
import type { DetailedPeerCertificate, PeerCertificate } from 'node:tls'

/** From when until when a certificate is valid, in milliseconds since 1970. */
export interface CertificateLife {
  readonly from: number
  readonly until: number
}

/** The life of a certificate in a file. */
export function lifeOf({ validFrom, validTo }: X509Certificate): CertificateLife {
  return { from: Date.parse(validFrom), until: Date.parse(validTo) }
}

/** Of the certificates that a peer has shown, and of their authority's, the life that ends first. */
export function shortestLife(certificate: PeerCertificate): CertificateLife | undefined {
  return firstToEnd([...chainOf(certificate)].map(peerLife))
}

/** The life that ends first; undefined if there is none. */
export function firstToEnd(lives: Iterable<CertificateLife>): CertificateLife | undefined {
  return [...lives].sort((a, b) => a.until - b.until)[0]
}

function peerLife({ valid_from, valid_to }: PeerCertificate): CertificateLife {
  return { from: Date.parse(valid_from), until: Date.parse(valid_to) }
}

// A root is its own issuer.
function chainOf(certificate: PeerCertificate): Set<PeerCertificate> {
  const chain = new Set<PeerCertificate>()
  // Cast: Node passes the detailed form to `checkServerIdentity`, which its types leave out.
  let next = certificate as Partial<DetailedPeerCertificate> | undefined
  while (next?.valid_to !== undefined && !chain.has(next as PeerCertificate)) {
    chain.add(next as PeerCertificate)
    next = next.issuerCertificate
  }
  return chain
}
