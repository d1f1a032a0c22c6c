// A request as sent, and the command that reproduces it.

/** The expected response: a success, an error (4xx), or either. */
export type Expectation = 'accepted' | 'rejected' | 'either'

/** A request. Texts are as sent, one byte a character. */
export interface Request {
  readonly method: string
  readonly target: string
  readonly version: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The bytes after the header section: the body with its framing. */
  readonly payload: Uint8Array
  /** The body without framing. */
  readonly body: Uint8Array | undefined
  /** The id of the operation that it is routed to; undefined or empty: none. */
  readonly operation: string | undefined
  readonly expected: Expectation
  readonly hasKey: boolean
  /** Names of its mutations. */
  readonly mutations: readonly string[]
  /** Whether curl would correct it. */
  readonly isRaw: boolean
}

/** The bytes of a request. */
export function toBytes({ method, target, version, headers, payload }: Request): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.concat([Buffer.from(`${method} ${target} ${version}\r\n${lines}\r\n`, 'latin1'), payload])
}

/** A shell command that reproduces the request: with curl, or byte by byte if curl would correct it. */
export function toCurl(request: Request, origin: string): string {
  const { host, protocol } = new URL(origin)
  const { method, target, headers, body } = request
  const isPlain =
    /^\/[\x21-\x7e]*$/.test(target) && headers.every(([, value]) => /^[\x20-\x7e]*$/.test(value))
  if (request.isRaw || !isPlain) {
    const isSecure = protocol === 'https:'
    const sender = isSecure
      ? `openssl s_client -quiet -connect ${host}`
      : `curl -s --max-time 5 telnet://${host}`
    return `printf ${quote(escapeForPrintf(toBytes(request)))} | ${sender}`
  }
  const isSetByCurl = ([name, value]: readonly [string, string]) =>
    name === 'Content-Length' || (name === 'Host' && value === host)
  const hasType = headers.some(([name]) => name === 'Content-Type')
  const input = body === undefined ? '' : `printf ${quote(escapeForPrintf(body))} | `
  return [
    `${input}curl -i --globoff --path-as-is --http1.1`,
    method === 'HEAD' ? '--head' : `-X ${method}`,
    ...headers
      .filter((header) => !isSetByCurl(header))
      .map(([name, value]) => `-H ${quote(value === '' ? `${name};` : `${name}: ${value}`)}`),
    ...(body !== undefined && !hasType ? ["-H 'Content-Type:'"] : []),
    ...(body === undefined ? [] : ['--data-binary @-']),
    quote(origin + target),
  ].join(' ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

// Escapes for a POSIX printf; printable characters stay readable.
function escapeForPrintf(bytes: Uint8Array): string {
  const short: Readonly<Record<string, string>> = { '\\': '\\\\', '%': '%%', '\r': '\\r', '\n': '\\n' }
  return Buffer.from(bytes)
    .toString('latin1')
    .replace(
      /[^\x20-\x7e]|[\\%']/g,
      (each) => short[each] ?? `\\${each.charCodeAt(0).toString(8).padStart(3, '0')}`,
    )
}
