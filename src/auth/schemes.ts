// The check of each security scheme of the contract, by the scheme's name. A scheme that an operation with a
// handler names, and that has none, does not compile. `npm run generate` reads this list as text: write the
// names out.

import { apiKeys } from './api-keys.js'
import type { Schemes } from './checks.js'

export const schemes = {
  apiKey: apiKeys(),
} satisfies Schemes
