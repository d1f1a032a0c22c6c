// The items within the text of a stream, which arrives in pieces: events (Server-Sent Events), lines of JSON,
// and texts of JSON after a record separator (RFC 7464).
//
// Events are read as the WHATWG HTML standard says (9.2.6). eventsource-parser (3.1.1) drops the id of an
// event without data, from which a client is to go on, and holds back an event that ends with a CR until more
// arrives; cutting a text at its ends of lines is needed for lines of JSON anyway.

/** How the items of a stream are told apart. */
export type Framing = 'sse' | 'lines' | 'sequence'

/**
 * An item as it was sent, without the fields that it does not have; only an event has others than its data.
 */
export interface SentItem {
  readonly event?: string
  /** Of an event: from where to go on after it. */
  readonly id?: string
  /** Of an event: the wait before another connection. */
  readonly retry?: number
  /** Without it, what was sent is no item, though its id and `retry` count. */
  readonly data?: string
}

/** Finds the items in a text. */
export interface ItemReader {
  /** The items that end in the next piece of the text. @throws {RangeError} if one is too long */
  push(text: string): SentItem[]
  /** The items that only the end of the text ends. */
  end(): SentItem[]
}

/** The reader of a framing. */
export function itemReader(framing: Framing): ItemReader {
  return framing === 'sse' ? new EventReader() : new LineReader()
}

/** The longest item, in UTF-16 code units: one without an end would fill the memory. */
export const itemLengthMax = 16 * 2 ** 20

// Pieces that end with a separator. Only what has just arrived is searched: a long piece that comes in many
// small ones would be searched again with each.
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
    // A CRLF may have been cut in two.
    const own = this.#endsWithCr && text.startsWith('\n') ? text.slice(1) : text
    if (text !== '') this.#endsWithCr = text.endsWith('\r')
    return this.#lines.push(own).flatMap((line) => this.#readLine(line) ?? [])
  }

  // An event that is cut off is none.
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

// Texts of JSON: one a line, or each after a record separator, and also ended by a line feed. A text that the
// engine writes has neither within. Empty lines keep a connection alive.
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
