// Bodies that are accepted and written in one pass, where the code of the contract has a function that does.

import type { Operation, Response } from '../../document/contract.js'
import type { Accept, Judges } from '../../document/judges.js'
import { essence, isRange } from '../../document/media-types.js'
import { kindOf, sentType } from '../../kinds/index.js'

/**
 * How the bodies of a status are accepted, if their handler names no media type, and the type as it is sent.
 */
export interface Acceptance {
  readonly accept: Accept
  readonly type: string
}

/**
 * The acceptances of an operation, by the declared status.
 * @param judges of an operation all of whose bodies Fastify's serializer can write
 */
export function createAcceptances(
  { responses }: Operation,
  judges: Pick<Judges, 'acceptance'>,
): ReadonlyMap<string, Acceptance> {
  const found = [...responses.values()].flatMap((response) => {
    const acceptance = acceptanceOf(response, judges)
    return acceptance === undefined ? [] : [[response.status, acceptance] as const]
  })
  return new Map(found)
}

// Of an exact status and type: for others Fastify finds no serializer.
function acceptanceOf(
  { key, contents }: Response,
  judges: Pick<Judges, 'acceptance'>,
): Acceptance | undefined {
  const [content, ...others] = contents
  if (content?.schema === undefined || others.length > 0) return undefined
  if (kindOf(content).receivedAs !== 'json') return undefined
  const { mediaType } = content
  if (!/^\d{3}$/.test(key) || essence(mediaType) !== mediaType || isRange(mediaType)) return undefined
  const accept = judges.acceptance(content.schema)
  return accept && { accept, type: sentType(content) }
}
