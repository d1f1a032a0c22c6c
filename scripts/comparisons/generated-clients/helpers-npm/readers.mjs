// Parsers of the headers that tell a quota. Each returns the remaining requests.

import { parseRateLimit } from 'ratelimit-header-parser'

export const readers = {
  'ratelimit-header-parser': (headers) => parseRateLimit(new Headers(headers)).remaining,
}
