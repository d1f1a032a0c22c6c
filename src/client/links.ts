// Links of an answer (RFC 8288).

/** Where the link of that relation leads, as it is written. */
export function linkTo(relation: string, header: string | null): string | undefined {
  // Targets hold no angle brackets, and a quoted value may hold commas.
  for (const [, target, parameters = ''] of (header ?? '').matchAll(/<([^<>]*)>((?:"[^"]*"|[^",<])*)/g)) {
    const [, quoted, bare] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters) ?? []
    const relations = (quoted ?? bare ?? '').toLowerCase().split(/\s+/)
    if (relations.includes(relation)) return target
  }
  return undefined
}
