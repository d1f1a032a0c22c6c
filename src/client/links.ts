// The `Link` header (RFC 8288).

/** Returns the target of the link with a relation, unresolved. */
export function linkTo(relation: string, header: string | null): string | undefined {
  // Targets contain no angle brackets, and quoted values may contain commas.
  for (const [, target, parameters = ''] of (header ?? '').matchAll(/<([^<>]*)>((?:"[^"]*"|[^",<])*)/g)) {
    const [, quoted, bare] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters) ?? []
    const relations = (quoted ?? bare ?? '').toLowerCase().split(/\s+/)
    if (relations.includes(relation)) return target
  }
  return undefined
}
