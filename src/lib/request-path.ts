/**
 * The path of a request target, without its query. A target may contain a scheme and a host (RFC 9112, section 3.2.2): without them,
 * no link in a response can point to another host.
 */
export function requestPath(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '')
}
