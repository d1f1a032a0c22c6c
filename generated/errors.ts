// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { Error, components } from './types.js'

/** The machine-readable codes of errors. */
export type ErrorCode = components['schemas']['ErrorCode']

/** The bodies of errors. */
export type ErrorBody = Error
