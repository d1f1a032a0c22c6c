// Finds the items in the text of a stream, which arrives in pieces: events (Server-Sent Events), lines of
// JSON, and JSON texts after a record separator (RFC 7464).
//
// Events are read by the WHATWG HTML standard (section 9.2.6). eventsource-parser (3.1.1) drops the id of an
// event without data, after which a client should continue. It also holds back an event that ends with a CR
// until more arrives. Besides, lines of JSON need a text cut at its line ends anyway.

/** How the items of a stream are separated. */
export type Framing = 'sse' | 'lines' | 'sequence'

/**
 * An item as it was sent, without fields that it does not have. Only an event has other fields than `data`.
 */
export interface SentItem {
  readonly event?: string
  /** In an event: the id after which to continue. */
  readonly id?: string
  /** In an event: the wait before another connection, in milliseconds. */
  readonly retry?: number
  /** Without data, this is no item, although its `id` and `retry` count. */
  readonly data?: string
}

/** Finds the items in a text that arrives in pieces. */
export interface ItemReader {
  /**
   * Returns the items that end within the next piece of the text.
   * @throws {RangeError} if an item is too long
   */
  push(text: string): SentItem[]
  /** Returns the items that end only with the text. */
  end(): SentItem[]
}

/** Returns the reader of a framing. */
export function itemReader(framing: Framing): ItemReader {
  return framing === 'sse' ? new EventReader() : new LineReader()
}

/** The greatest length of an item, in UTF-16 code units: an item without an end would fill the memory. */
export const itemLengthMax = 16 * 2 ** 20

// Cuts a text at a separator. It searches only what has just arrived: otherwise, an item in many small pieces
// would be searched again with each of them.
class Cutter {
  #rest = ''

  constructor(readonly separator: RegExp) {}

  get rest(): string {
    return this.#rest
  }

  push(text: string): string[] {
    const [first = '', ...others] = text.split(this.separator)
    const pieces = [this.#rest + first, ...others]
    this.#rest = pieces.pop() ?? ''
    checkLength(this.#rest.length)
    return pieces
  }
}

function checkLength(length: number): void {
  if (length > itemLengthMax) throw new RangeError(`An item is longer than ${itemLengthMax} characters.`)
}

class EventReader implements ItemReader {
  readonly #lines = new Cutter(/\r\n|\n|\r/)
  #endsWithCr = false
  #item: { -readonly [Name in keyof SentItem]: SentItem[Name] } = {}

  push(text: string): SentItem[] {
    // The last piece may have ended within a CRLF.
    const own = this.#endsWithCr && text.startsWith('\n') ? text.slice(1) : text
    if (text !== '') this.#endsWithCr = text.endsWith('\r')
    return this.#lines.push(own).flatMap((line) => this.#readLine(line) ?? [])
  }

  // An event that is cut off does not count.
  end(): SentItem[] {
    return []
  }

  #readLine(line: string): SentItem | undefined {
    if (line !== '') {
      const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
      this.#readField(name, value)
      return undefined
    }
    const item = this.#item
    this.#item = {}
    return item
  }

  // A comment is a field without a name.
  #readField(name: string, value: string): void {
    const { data } = this.#item
    if (name === 'data') this.#item.data = data === undefined ? value : `${data}\n${value}`
    else if (name === 'event') this.#item.event = value
    else if (name === 'id' && !value.includes('\0')) this.#item.id = value
    else if (name === 'retry' && /^\d+$/.test(value)) this.#item.retry = Number(value)
    checkLength(this.#item.data?.length ?? 0)
  }
}

const recordSeparator = '\u001e'

// Reads JSON texts, either one on each line, or each after a record separator and before a line feed. JSON
// texts of the engine contain neither character. Empty lines keep a connection alive.
class LineReader implements ItemReader {
  readonly #lines = new Cutter(new RegExp(`[\n${recordSeparator}]`))

  push(text: string): SentItem[] {
    return this.#lines.push(text).flatMap(itemOf)
  }

  end(): SentItem[] {
    return itemOf(this.#lines.rest)
  }
}

function itemOf(data: string): SentItem[] {
  return /\S/.test(data) ? [{ data }] : []
}
