// The check of each security scheme of the contract, by the scheme's name. A scheme that an operation requires
// and that has none is refused at startup, and by `npm run generate`, which reads this list as text: write each
// entry as `name: check(…)`.

import { apiKeys } from './api-keys.js'

export const schemes = {
  apiKey: apiKeys(),
}
