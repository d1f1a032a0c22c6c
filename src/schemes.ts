// The check of each security scheme of the contract, by the scheme's name. If an operation with a handler
// names a scheme without a check, this does not compile. `npm run generate` reads this list as text: write
// the names out.

import type { SchemesOf } from 'contract-service'
import { apiKeys } from 'contract-service/checks'
import type { handlers } from '../generated/handlers.js'
import type { Operations, SecuritySchemes } from '../generated/operations.js'

export const schemes = {
  apiKey: apiKeys(),
} satisfies SchemesOf<Operations, SecuritySchemes, typeof handlers>
