import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The response to the request in flight on a connection of a server, from when the request's head has arrived
 * until the response is sent. Node keeps it as `_httpMessage`, which its types lack, and has no other way.
 */
export function responseOn(
  socket: Socket & { readonly _httpMessage?: ServerResponse | null },
): ServerResponse | undefined {
  return socket._httpMessage ?? undefined
}
