/** The path of a request target, without its query, scheme and host (RFC 9112, section 3.2.2). */
export function requestPath(url: string): string {
  const target = url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  const end = target.search(/[?#]/)
  return end < 0 ? target : target.slice(0, end)
}
