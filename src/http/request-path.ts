/**
 * The path of a request's target, without its query. A target may name a scheme and a host (RFC 9112, section 3.2.2), which
 * no link may repeat.
 */
export function requestPath(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '')
}
