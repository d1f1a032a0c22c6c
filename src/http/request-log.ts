// One line per request: what was asked, what was answered, how long it took and by which key. Neither
// headers nor the URL as sent are logged: either may hold a key.

import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'

/** Fastify's hooks into its log, with one line where its own would write two. */
export class RequestLog extends LogController {
  constructor() {
    super({ requestIdLogLabel: 'requestId' })
  }

  override incomingRequest(): void {}

  override routeNotFound(): void {}

  override requestCompleted(
    error: Error | null | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const line = lineOf(request, reply, reply.statusCode)
    if (error) request.log.warn({ ...line, err: error }, 'request broken off')
    else request.log.info(line, 'request')
  }
}

/** Tells of a request whose connection was gone before its answer was. */
export function logAborted(request: FastifyRequest, reply: FastifyReply): void {
  request.log.info(lineOf(request, reply), 'request aborted')
}

function lineOf(
  { method, matched, client, reason }: FastifyRequest,
  { elapsedTime }: FastifyReply,
  status?: number,
): object {
  const ms = Math.round(elapsedTime * 1000) / 1000
  return { method, route: matched?.url, status, ms, keyId: client?.keyId, reason }
}
