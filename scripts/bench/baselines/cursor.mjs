/** Where a page begins: after the id that the service's cursor holds, or at the first animal. */
export function afterId(cursor) {
  return cursor === undefined ? '0' : Buffer.from(cursor, 'base64url').toString().split('|')[2]
}
