// Finds out how long certificates are valid, so that operators can renew them before connections fail.

import type { X509Certificate } from 'node:crypto'
import type { DetailedPeerCertificate, PeerCertificate } from 'node:tls'

/** The time in which a certificate is valid, in milliseconds since 1970. */
export interface CertificateLife {
  readonly from: number
  readonly until: number
}

/** Returns the life of a certificate from a file. */
export function lifeOf({ validFrom, validTo }: X509Certificate): CertificateLife {
  return { from: Date.parse(validFrom), until: Date.parse(validTo) }
}

/** Returns the life that ends first, among the certificates of a peer and its authorities. */
export function shortestLife(certificate: PeerCertificate): CertificateLife | undefined {
  return firstToEnd([...chainOf(certificate)].map(peerLife))
}

/** Returns the life that ends first, or undefined if there is none. */
export function firstToEnd(lives: Iterable<CertificateLife>): CertificateLife | undefined {
  return [...lives].sort((a, b) => a.until - b.until)[0]
}

function peerLife({ valid_from, valid_to }: PeerCertificate): CertificateLife {
  return { from: Date.parse(valid_from), until: Date.parse(valid_to) }
}

// Follows the issuers. A root is its own issuer, so a set ends the loop.
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
