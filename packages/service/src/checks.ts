// The checks of security schemes for a team's list, and the parts for a check of its own.

export { apiKeys } from './auth/api-keys.js'
export { basic } from './auth/basic.js'
export type { CheckFactory, CheckParts } from './auth/checks.js'
export type { Client } from './auth/client.js'
export { jwt } from './auth/jwt.js'
export { planOfCaller } from './auth/plans.js'
export { unavailable } from './middleware/unavailable.js'
