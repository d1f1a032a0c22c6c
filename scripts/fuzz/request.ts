// One request as it goes over the wire, and the command that sends it again.

/** What the service has to make of a request: do it, refuse it with a 4xx, or one of the two. */
export type Expectation = 'done' | 'refused' | 'either'

/** A request. Text is one byte a character, as it is sent. */
export interface Request {
  readonly method: string
  readonly target: string
  readonly version: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** After the header section, framed already. */
  readonly payload: Uint8Array
  /** What was sent before it was framed. */
  readonly body: Uint8Array | undefined
  /** The operation that it goes to; undefined where it goes to none. */
  readonly operation: string | undefined
  readonly expected: Expectation
  readonly hasKey: boolean
  /** What is odd about it, in words. */
  readonly mutations: readonly string[]
  /** curl would not send it like this. */
  readonly isRaw: boolean
}

/** The bytes of a request. */
export function toBytes({ method, target, version, headers, payload }: Request): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.concat([Buffer.from(`${method} ${target} ${version}\r\n${lines}\r\n`, 'latin1'), payload])
}

/** A command for a shell that sends the request again: by curl's own HTTP, or where that would mend it, byte by byte. */
export function toCurl(request: Request, origin: string): string {
  const { host, protocol } = new URL(origin)
  const { method, target, headers, body } = request
  const isPlain =
    /^\/[\x21-\x7e]*$/.test(target) && headers.every(([, value]) => /^[\x20-\x7e]*$/.test(value))
  if (request.isRaw || !isPlain) {
    const isSecure = protocol === 'https:'
    const way = isSecure
      ? `openssl s_client -quiet -connect ${host}`
      : `curl -s --max-time 5 telnet://${host}`
    return `printf ${quote(octal(toBytes(request)))} | ${way}`
  }
  const isOwn = ([name, value]: readonly [string, string]) =>
    name === 'Content-Length' || (name === 'Host' && value === host)
  const hasType = headers.some(([name]) => name === 'Content-Type')
  const input = body === undefined ? '' : `printf ${quote(octal(body))} | `
  return [
    `${input}curl -i --globoff --path-as-is --http1.1`,
    method === 'HEAD' ? '--head' : `-X ${method}`,
    ...headers
      .filter((header) => !isOwn(header))
      .map(([name, value]) => `-H ${quote(value === '' ? `${name};` : `${name}: ${value}`)}`),
    ...(body !== undefined && !hasType ? ["-H 'Content-Type:'"] : []),
    ...(body === undefined ? [] : ['--data-binary @-']),
    quote(origin + target),
  ].join(' ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

// For printf of any shell; what is printable stays readable.
function octal(bytes: Uint8Array): string {
  const short: Readonly<Record<string, string>> = { '\\': '\\\\', '%': '%%', '\r': '\\r', '\n': '\\n' }
  return Buffer.from(bytes)
    .toString('latin1')
    .replace(
      /[^\x20-\x7e]|[\\%']/g,
      (each) => short[each] ?? `\\${each.charCodeAt(0).toString(8).padStart(3, '0')}`,
    )
}
