// The errors of a change that depends on the state that its client has seen (RFC 9110, section 13.1.1).

import { RequestError } from 'contract-engine'

/**
 * What the client has seen is no longer so, or cannot be told from what it sends, if a proxy has rewritten
 * its entity tag: 412 (RFC 9110, section 15.5.13).
 */
export function preconditionFailed(isRewritten = false): RequestError {
  const message = isRewritten
    ? 'If-Match has the entity tag as a proxy that compresses rewrote it (W/"…", "…-gzip"), which names ' +
      'nothing. Read it again with "Accept-Encoding: identity".'
    : 'This has been changed since: its entity tag is none of If-Match. Read it again.'
  return new RequestError('precondition_failed', message, { status: 412 })
}

/** The client does not say what it has seen, and has to: 428 (RFC 6585, section 3). */
export function preconditionRequired(): RequestError {
  const message = 'Send If-Match with the ETag of what you have read, so that no change of others is lost.'
  return new RequestError('precondition_required', message, { status: 428 })
}
