// Warns of fields in security schemes that their type does not have: the author may believe that they have an
// effect, but nobody reads them.

import type { Node, Reader } from '../../document/reader.js'

// The fields of each type besides `type`, `description` and `deprecated` (OpenAPI 3.2, sections 4.27.1 and
// 4.29.1).
const fieldsOfTypes: FieldsOf = {
  apiKey: ['name', 'in'],
  http: ['scheme', 'bearerFormat'],
  mutualTLS: [],
  oauth2: ['flows', 'oauth2MetadataUrl'],
  openIdConnect: ['openIdConnectUrl'],
}

// The fields of each flow besides `refreshUrl` and `scopes`.
const fieldsOfFlows: FieldsOf = {
  implicit: ['authorizationUrl'],
  password: ['tokenUrl'],
  clientCredentials: ['tokenUrl'],
  authorizationCode: ['authorizationUrl', 'tokenUrl'],
  deviceAuthorization: ['deviceAuthorizationUrl', 'tokenUrl'],
}

type FieldsOf = Readonly<Record<string, readonly string[]>>

/** Warns of each field that belongs only to schemes of other types or, in a flow, only to other flows. */
export function warnOfIdleFields(reader: Reader): void {
  for (const [name, value] of Object.entries(reader.node(reader.components.securitySchemes))) {
    const scheme = reader.node(value)
    const at = ['components', 'securitySchemes', name]
    const warn = (fields: readonly string[], place: readonly string[], what: string) => {
      for (const field of fields)
        reader.within([...at, ...place, field], () =>
          reader.warn(`the security scheme ${name}: ${[...place, field].join('.')} has no effect ${what}`),
        )
    }
    warn(idleIn(scheme, String(scheme.type), fieldsOfTypes), [], `beside type: ${scheme.type}`)
    for (const [flow, fields] of scheme.type === 'oauth2' ? Object.entries(reader.node(scheme.flows)) : [])
      warn(idleIn(reader.node(fields), flow, fieldsOfFlows), ['flows', flow], 'in that flow')
  }
}

function idleIn(node: Node, kind: string, fieldsOf: FieldsOf): string[] {
  if (!Object.hasOwn(fieldsOf, kind)) return []
  const known = new Set(Object.values(fieldsOf).flat())
  return Object.keys(node).filter((field) => known.has(field) && !fieldsOf[kind]?.includes(field))
}
