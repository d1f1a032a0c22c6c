import type { ApiError } from './error.js'

/** Whether a response refuses the credential: a 401, or a 429 that asks for another one. */
export function isOfCredential({ response }: ApiError): boolean {
  const { status, headers } = response ?? {}
  return status === 401 || (status === 429 && headers?.has('WWW-Authenticate') === true)
}
