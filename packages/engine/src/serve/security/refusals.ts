// The errors of a request that meets no alternative of its operation: 401 and 403, with their challenges.

import { RequestError } from '../../document/request-error.js'
import { challenges, scopeChallenge } from './challenges.js'
import type { Caller, CheckError } from './check.js'
import type { Alternative, Gate, Need, Step } from './gate.js'

/** Returns the 401 of a request without credentials. */
export function missingCredentials<C extends Caller>(
  alternatives: readonly Pick<Alternative<C>, 'needs'>[],
): RequestError {
  const steps = alternatives.flatMap(({ needs }) => needs.map(({ step }) => step))
  const own = steps.map(({ check }) => check.errors?.missing).find((error) => error !== undefined)
  const usage = alternatives.map(({ needs }) => needs.map(({ step }) => step.usage).join(' and '))
  const message = `Send credentials: ${[...new Set(usage)].join(', or ')}.`
  const refused = steps.map(({ challenge }) => ({ challenge, reason: undefined }))
  return unauthorized(own ?? { code: 'missing_credentials', message }, challenges(refused))
}

/** Returns the 401 of an invalid credential, still without the challenges of all schemes. */
export function invalidCredential<C extends Caller>({ check }: Step<C>): RequestError {
  const { code, message } = check.errors?.invalid ?? invalidError
  return new RequestError(code, message, { status: 401 })
}

const invalidError = { code: 'invalid_credentials', message: 'The credentials are not valid.' }

/**
 * Returns the 401 of a request whose credential a check has refused. It has the code and message of that
 * check's error, and a challenge for each scheme of each alternative.
 * @param refusalOf returns the 401 of a scheme whose own credential was refused
 */
export function invalidCredentials<C extends Caller>(
  { alternatives }: Pick<Gate<C>, 'alternatives'>,
  error: RequestError,
  refusalOf: (step: Step<C>) => RequestError | undefined,
): RequestError {
  const steps = alternatives.flatMap(({ needs }) => needs.map(({ step }) => step))
  const refused = steps.map((step) => ({ challenge: step.challenge, reason: refusalOf(step)?.message }))
  return unauthorized(error, challenges(refused), error)
}

function unauthorized({ code, message }: CheckError, challenge: string, error?: RequestError): RequestError {
  const headers = { ...error?.headers, 'WWW-Authenticate': challenge }
  return new RequestError(code, message, { status: 401, headers, cause: error?.options.cause })
}

/**
 * Returns the 403 of a request that a page of another site has sent with a cookie, with the schemes'
 * challenges.
 */
export function crossSite<C extends Caller>(needs: readonly Need<C>[]): RequestError {
  const refused = needs.map(({ step }) => ({ challenge: step.challenge, reason: undefined }))
  const message = 'A page of another site has sent this with a cookie, which may not be meant by its user.'
  return new RequestError('cross_site_request', message, {
    headers: { 'WWW-Authenticate': challenges(refused) },
  })
}

/** Returns the 403 of a known caller who lacks a scope that an alternative demands. */
export function insufficientScope<C extends Caller>(needs: readonly Need<C>[]): RequestError {
  const demanding = needs.filter(({ scopes }) => scopes.length > 0)
  const scopes = [...new Set(demanding.flatMap((each) => each.scopes))]
  const message = `This needs the scope${scopes.length > 1 ? 's' : ''} ${scopes.join(', ')}.`
  const challenge = scopeChallenge(demanding.map((each) => ({ challenge: each.step.challenge, ...each })))
  const headers = challenge === undefined ? {} : { 'WWW-Authenticate': challenge }
  return new RequestError('insufficient_scope', message, { headers })
}
