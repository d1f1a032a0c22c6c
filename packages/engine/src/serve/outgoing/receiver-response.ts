// Reads what the receiver of a request responds, as the webhook or callback declares it. A stranger sends
// these bytes, so they are bounded and validated like those of a request.

import type { Content, Contract, SentRequest } from '../../document/contract.js'
import type { FunctionName, Functions } from '../../document/functions.js'
import { isUtf8, responseContent } from '../../document/media-types.js'
import { kindOf } from '../../kinds/index.js'
import { GrowingBuffer } from '../request/body.js'
import { BodyMemory } from '../request/body-memory.js'
import { byStatus } from '../response/response-validation.js'

/** Reads a response of `fetch`, whose body must not have been read. */
export type ReadResponse<Declared = unknown> = (response: Response) => Promise<Declared>

/** The status, and the body if the contract declares one. The caller reads the headers itself. */
interface Read {
  readonly status: number
  readonly body?: unknown
}

/**
 * Reads the bytes of a body.
 * @throws {Error} if they are not as declared
 */
type ReadBody = (bytes: Buffer) => unknown

/**
 * Returns a function that creates the reader of a request's responses. A response body may be as long as a
 * request body that the contract accepts.
 */
export function createResponseReaders(
  contract: Contract,
  functions: Functions,
): (request: SentRequest) => ReadResponse<Read> {
  const checkOf = createCheckOf(functions)
  return ({ place, responses }) => {
    const statuses = [...responses].map(([status, { contents }]) => {
      return [status, contents.map((each) => ({ ...each, read: bodyReader(each, checkOf) }))] as const
    })
    const contentsOf = byStatus(new Map(statuses))
    return async (response) => {
      try {
        return await readResponse(response, contentsOf(response.status), contract.limits.body)
      } catch (error) {
        throw new Error(`${place}: the response ${response.status}: ${(error as Error).message}`, {
          cause: error,
        })
      }
    }
  }
}

async function readResponse(
  response: Response,
  contents: readonly (Content & { readonly read: ReadBody })[] | undefined,
  bytesMax: number,
): Promise<Read> {
  const { status, headers, body } = response
  const type = headers.get('content-type') ?? undefined
  const content = responseContent(contents ?? [], type)
  if (content === undefined || (kindOf(content).isText && !isUtf8(type ?? ''))) {
    await body?.cancel() // otherwise its connection would wait for a reader
    if (contents === undefined) throw new Error('the status is not declared')
    if (contents.length === 0) return { status }
    throw new Error(type === undefined ? 'Content-Type is missing' : `Content-Type ${type} is not declared`)
  }
  return { status, body: content.read(await bytesOf(body, bytesMax)) }
}

// To leave the loop cancels the rest of the body.
async function bytesOf(body: Response['body'], max: number): Promise<Buffer> {
  const buffer = new GrowingBuffer({ max, memory: new BodyMemory(), onHeld: () => {} })
  for await (const chunk of body ?? []) {
    const refusal = buffer.append(Buffer.from(chunk))
    if (refusal !== undefined) throw refusal
  }
  return buffer.bytes
}

function bodyReader(content: Content, checkOf: CheckOf): ReadBody {
  const { received, isOfValue } = kindOf(content)
  if (received === undefined) throw new Error(`${content.mediaType} is not received`)
  const { schema, judge = '' } = content
  const check = schema === undefined ? undefined : checkOf(judge)
  return (bytes) => {
    if (isOfValue && bytes.length === 0) throw new Error('the body is missing')
    const { value, faults } = received.read(bytes, content, content.mediaType)
    if (faults[0] !== undefined) throw new Error(`the body ${faults[0].message}`)
    if (check !== undefined) return check(value)
    return value instanceof Uint8Array ? new Uint8Array(value) : value // a copy holds only its own bytes
  }
}

type CheckOf = (judge: FunctionName) => (value: unknown) => unknown

// The value is validated within an object, because the validator changes a value (a default, an int64) in its
// parent.
function createCheckOf({ judge }: Functions): CheckOf {
  return (name) => {
    const validate = judge(name)
    return (value) => {
      const holder = { body: value }
      if (validate(holder)) return holder.body
      const { instancePath = '/body', message = 'cannot be checked' } = validate.errors?.[0] ?? {}
      throw new Error(`body at "${instancePath.slice('/body'.length)}" ${message}`)
    }
  }
}
