/** The id that a page starts after: from the service's cursor, or 0 without one. */
export function afterId(cursor) {
  return cursor === undefined ? '0' : Buffer.from(cursor, 'base64url').toString().split('|')[2]
}
