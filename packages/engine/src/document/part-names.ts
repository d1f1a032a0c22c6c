// The parts of a request.

/** The contract's name for each part, by Fastify's name; Fastify has none for cookies. */
export const partNames = {
  params: 'path',
  querystring: 'query',
  headers: 'header',
  cookies: 'cookie',
  body: 'body',
} as const

export type RequestPart = keyof typeof partNames

export const requestParts = Object.keys(partNames) as RequestPart[] // exactly the keys above
