// Receives the body of a request, either as a whole or as a stream, as its operation declares.

import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { Operation } from '../../document/contract.js'
import type { RequestError } from '../../document/request-error.js'
import { bodyLength } from '../../lib/field-values.js'
import { readBody } from './body.js'
import { type BodyMemory, HeldBytes, putInHand } from './body-memory.js'
import { bodyTooLarge } from './errors.js'
import { declaredAs, receivedBy, responseTo, upload as uploadKey } from './request-parts.js'
import { noteErrors } from './request-validation.js'
import { Upload, type UploadLimits, uploadBytes } from './upload.js'
import type { UploadForm } from './upload-files.js'
import { readUploadForm } from './upload-form.js'
import { invalidBody } from './violations.js'

/** Receives the request's body, or the reason why there is none. */
type OnReceived = (error: Error | null, body?: unknown) => void

/** Receives a body after its media type has been accepted. */
export function receiveBody(
  request: FastifyRequest,
  payload: Readable,
  memory: BodyMemory,
  onReceived: OnReceived,
): void {
  const operation = request[receivedBy] as Operation // set before its body is read
  const max = operation.limits.body
  const length = bodyLength(request.headers)
  const content = request[declaredAs]
  if (content?.upload !== undefined) {
    const { minLength, maxLength, files } = content.upload
    const limits = { max, isRequired: operation.body?.required === true, minLength, maxLength }
    const received = startUpload(request, payload, length, memory, limits)
    if (!(received instanceof Upload)) onReceived(received)
    else if (files.size === 0) onReceived(null, received)
    else receiveForm(request, received, content as UploadForm, onReceived)
    return
  }
  readBody(payload, length, { max, memory, onHeld: (held) => putInHand(request, held) }, onReceived)
}

// Nothing is read yet, so that a client that waits for `100 Continue` does not send a body that is refused.
function startUpload(
  request: FastifyRequest,
  payload: Readable,
  length: number | undefined,
  memory: BodyMemory,
  limits: UploadLimits,
): Upload | RequestError {
  const refusal = lengthRefusal(length, limits)
  if (refusal !== undefined) return refusal
  const held = new HeldBytes(memory)
  if (!held.grow(uploadBytes)) return memory.refuse()
  const upload = new Upload(payload, limits, held)
  request[uploadKey] = upload
  putInHand(request, upload)
  // Needed while the handler runs, too: after a request's response, Node (20.20 and 26.10) no longer reports
  // that the client has left.
  request[responseTo]?.once('close', () => upload.cut())
  return upload
}

function lengthRefusal(
  length: number | undefined,
  { max, minLength, maxLength }: UploadLimits,
): RequestError | undefined {
  if (length === undefined) return undefined
  if (length > max) return bodyTooLarge(max)
  if (length > maxLength) return invalidBody([], `must have at most ${maxLength} bytes`)
  return length < minLength ? invalidBody([], `must have at least ${minLength} bytes`) : undefined
}

function receiveForm(
  request: FastifyRequest,
  upload: Upload,
  content: UploadForm,
  onReceived: OnReceived,
): void {
  readUploadForm(upload, request.headers['content-type'] ?? '', content).then(
    ({ value, faults }) => {
      noteErrors(request, 'body', faults)
      onReceived(null, value)
    },
    (error) => onReceived(upload.failure ?? error),
  )
}
