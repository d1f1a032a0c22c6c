// Reads IP addresses from sockets and X-Forwarded-For.

import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

// More than an IPv6 address in brackets with a zone and a port.
const textMax = 100
const networkGroups = 4 // of 16 bits: a client usually has a whole /64

/**
 * Returns the address of a request's client: the one that trusted proxies report, or the peer's if that is no
 * address. Logs and rate limits use no other.
 */
export function clientAddress({ ip, socket }: Request): string {
  return readAddress(ip) ?? readAddress(socket.remoteAddress) ?? 'unknown'
}

interface Request {
  readonly ip: string
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/**
 * Reads an address in any notation, without its port and zone. An IPv6 address that stands for an IPv4 host
 * is read as that host's. Returns undefined if the text is no address.
 */
export function readAddress(text = ''): string | undefined {
  if (text.length > textMax) return undefined
  const bare = text.replace(/^(?:\[([^\]]+)\](?::\d+)?|([^:]+):\d+)$/, '$1$2')
  if (isIP(bare) === 0) return undefined
  const [withoutZone = ''] = bare.split('%', 1)
  const address = ipaddr.parse(withoutZone)
  // A new string: a part of the header would keep the whole header in memory.
  return (address instanceof ipaddr.IPv6 ? (embeddedIPv4(address) ?? address) : address).toString()
}

/** True for a loopback address, at which no other machine reaches this one. */
export function isLoopback(address: string): boolean {
  const known = readAddress(address)
  return known !== undefined && ipaddr.parse(known).range() === 'loopback'
}

// IPv4-mapped addresses, NAT64 (RFC 6052; RFC 8215 with a /96), 6to4 (RFC 3056) and Teredo (RFC 4380). In
// these, a /64 stands for many IPv4 hosts, or an IPv4 host has many /64.
function embeddedIPv4(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  const bytes = address.toByteArray()
  const last = bytes.slice(12)
  switch (address.range()) {
    case 'ipv4Mapped':
    case 'rfc6052':
      return new ipaddr.IPv4(last)
    case '6to4':
      return new ipaddr.IPv4(bytes.slice(2, 6))
    case 'teredo':
      return new ipaddr.IPv4(last.map((byte) => byte ^ 255))
    default:
      return undefined
  }
}

/** Returns the network that counts as one client: an IPv4 address, or the /64 of an IPv6 address. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const { parts } = ipaddr.IPv6.parse(address)
  return new ipaddr.IPv6(parts.map((part, i) => (i < networkGroups ? part : 0))).toString()
}
