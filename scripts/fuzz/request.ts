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
  readonly twists: readonly string[]
  /** curl would not send it like this. */
  readonly isRaw: boolean
}

/** The bytes of a request. */
export function toBytes({ method, target, version, headers, payload }: Request): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.concat([Buffer.from(`${method} ${target} ${version}\r\n${lines}\r\n`, 'latin1'), payload])
}

/** A command for a shell that sends the request again: by curl's own HTTP, or where that would mend it, as it is. */
export function toCurl(request: Request, origin: string): string {
  const { host, protocol } = new URL(origin)
  if (request.isRaw || !request.headers.every(([, value]) => /^[\x20-\x7e]*$/.test(value))) {
    const way =
      protocol === 'https:'
        ? `openssl s_client -quiet -connect ${host}`
        : `curl -s --max-time 5 telnet://${host}`
    return `printf ${quote(octal(toBytes(request)))} | ${way}`
  }
  const { method, target, headers, body } = request
  const own = ['content-length', 'host']
  const sent = headers.filter(
    ([name, value]) => !own.includes(name.toLowerCase()) || (name === 'Host' && value !== host),
  )
  const options = [
    'curl -i --path-as-is --http1.1',
    method === 'HEAD' ? '--head' : `-X ${method}`,
    ...sent.map(([name, value]) => `-H ${quote(value === '' ? `${name};` : `${name}: ${value}`)}`),
  ]
  const isUrl = /^\/[\x21\x23-\x7a\x7c\x7e]*$/.test(target) && !target.includes('[')
  const where = isUrl ? [quote(origin + target)] : [`--request-target ${quote(target)}`, quote(`${origin}/`)]
  if (body === undefined) return [...options, ...where].join(' ')
  if (!sent.some(([name]) => name.toLowerCase() === 'content-type')) options.push("-H 'Content-Type:'")
  const text = Buffer.from(body).toString()
  const isText = /^[^\p{C}]*$/u.test(text) && Buffer.from(text).equals(body) && !text.startsWith('@')
  if (isText) return [...options, `--data-binary ${quote(text)}`, ...where].join(' ')
  return [`printf ${quote(octal(body))} |`, ...options, '--data-binary @-', ...where].join(' ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

// For printf of any shell; what is printable stays readable.
function octal(bytes: Uint8Array): string {
  return [...bytes]
    .map((byte) => {
      if (byte === 0x5c) return '\\\\'
      if (byte === 0x25) return '%%'
      if (byte === 0x0d) return '\\r'
      if (byte === 0x0a) return '\\n'
      return byte > 0x1f && byte < 0x7f && byte !== 0x27
        ? String.fromCharCode(byte)
        : `\\${byte.toString(8).padStart(3, '0')}`
    })
    .join('')
}
