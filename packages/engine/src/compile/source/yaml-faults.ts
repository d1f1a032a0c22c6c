// Tells what is wrong with a YAML text in the words of those who write contracts. The parser uses the words
// of its grammar, and often reports the place where it gave up, far behind the mistake.

import {
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Scalar,
  visit,
  type YAMLParseError,
} from 'yaml'
import { isMerge } from './yaml-merges.js'

/** A sentence, and its place in the text. */
export interface Fault {
  readonly text: string
  readonly offset: number
}

/**
 * Returns the faults of a parsed text. Faults after the first may be its consequences, so a fault of the
 * syntax is returned alone.
 */
export function faultsOf(parsed: Document.Parsed, text: string): readonly Fault[] {
  const tags = parsed.warnings.filter(({ code }) => code === 'TAG_RESOLVE_FAILED')
  const [first, ...others] = [...parsed.errors, ...tags]
  if (first === undefined) return valueFaults(parsed)
  const fault = faultOf(first, parsed, text)
  if (!independent.has(first.code))
    return [{ ...fault, text: `${fault.text}; the rest of the file could not be read` }]
  return [
    fault,
    ...others.filter(({ code }) => code === first.code).map((each) => faultOf(each, parsed, text)),
  ]
}

const independent: ReadonlySet<ErrorCode> = new Set(['DUPLICATE_KEY', 'TAG_RESOLVE_FAILED'])

// The parser reports these only when it makes a value of the text, and without a place.
function valueFaults(parsed: Document.Parsed): Fault[] {
  const found: Fault[] = []
  const add = (text: string, node: unknown) => {
    found.push({ text, offset: (isNode(node) ? node.range?.[0] : undefined) ?? 0 })
  }
  visit(parsed, {
    Alias(_, alias, around) {
      const { source } = alias
      if (around.some((each) => (isMap(each) || isSeq(each)) && each.anchor === source))
        add(`*${source} is an alias within its own anchor &${source}`, alias)
      else if (alias.resolve(parsed) === undefined)
        add(
          `no anchor &${source} is before the alias *${source}: a text that begins with * is in quotes`,
          alias,
        )
    },
    Pair(_, { key, value }) {
      if (!isMerge(key)) return
      const merged = isSeq(value) ? value.items : [value]
      if (merged.some((each) => !isMap(isAlias(each) ? each.resolve(parsed) : each) && !isLost(each, parsed)))
        add('<< merges names and values into others, as <<: *anchor does, and this is something else', key)
    },
  })
  return found
}

function isLost(node: unknown, parsed: Document.Parsed): boolean {
  return isAlias(node) && node.resolve(parsed) === undefined
}

interface Slip {
  readonly message: string
  readonly offset: number
  readonly text: string
  readonly parsed: Document.Parsed
}

function faultOf({ code, message, pos }: YAMLParseError, parsed: Document.Parsed, text: string): Fault {
  const slip = {
    message: message.split('\n', 1)[0]?.replace(/ at line \d+.*$/, '') ?? '',
    offset: pos[0],
    text,
    parsed,
  }
  return tellers[code]?.(slip) ?? { text: slip.message, offset: slip.offset }
}

const tellers: Partial<Record<ErrorCode, (slip: Slip) => Fault>> = {
  BAD_DQ_ESCAPE: ({ message, offset }) => ({
    text: `${message}: in double quotes a backslash is written twice, in single quotes once`,
    offset,
  }),
  BAD_INDENT: unclosed,
  BAD_SCALAR_START: ({ text, offset }) => ({
    text: `a text that begins with ${text[offset]} must be in quotes`,
    offset,
  }),
  BLOCK_AS_IMPLICIT_KEY: nested,
  BLOCK_IN_FLOW: ({ offset }) => ({
    text: 'a comma is missing: within braces and brackets one is between two members',
    offset,
  }),
  DUPLICATE_KEY: twice,
  MISSING_CHAR: missing,
  MULTILINE_IMPLICIT_KEY: ({ text, offset }) => ({
    text: `a colon and a blank must follow the name ${JSON.stringify(lineFrom(text, offset).slice(0, shownMax))}`,
    offset,
  }),
  MULTIPLE_DOCS: ({ offset }) => ({
    text: 'a second document begins here, behind ---: a file of a contract has one',
    offset,
  }),
  TAB_AS_INDENT: ({ offset }) => ({ text: 'the indentation has a tab: use blanks alone', offset }),
  UNEXPECTED_TOKEN: unexpected,
}

const shownMax = 40

// The parser takes `a: b` for a nested mapping: the value after it contains a colon, or the next line is
// deeper.
function nested({ text, offset }: Slip): Fault {
  const rest = lineFrom(text, offset)
  if (/:(?:\s|$)/.test(rest))
    return { text: 'a text with a colon and a blank in it must be in quotes', offset }
  const line = lineAround(text, offset)
  if (/^\s*-[^\s-]/.test(line)) {
    const dash = startOfLine(text, offset) + line.indexOf('-')
    return { text: 'a blank must follow the - of a list', offset: dash }
  }
  const deeper = afterBlank(text, offset + rest.length)
  const told =
    'the indentation is wrong: this line is deeper than the one before it, which has a value already'
  return { text: told, offset: deeper }
}

function unclosed(slip: Slip): Fault {
  const { text, offset } = slip
  const told = 'the indentation is wrong: this line begins in another column than those beside it'
  return openBracket(slip) ?? { text: told, offset: afterBlank(text, offset) }
}

function openBracket({ message, text, parsed, offset }: Slip): Fault | undefined {
  const [, end] = / end with a ([\]}])$/.exec(message) ?? []
  if (end === undefined) return undefined
  const begin = end === '}' ? '{' : '['
  const at = lastOpen(parsed, text, begin, end)
  if (at === undefined)
    return {
      text: 'the indentation is wrong: what is in braces or brackets is deeper than their line',
      offset,
    }
  // A value such as `{ $ref: #/a }` often loses its bracket to a comment.
  const isCut = /\s#/.test(lineFrom(text, at))
  const hint = isCut ? ' (what follows a blank and # is a comment: it needs quotes)' : ''
  return { text: `the ${begin} that begins here is not closed${hint}`, offset: at }
}

function lastOpen(parsed: Document.Parsed, text: string, begin: string, end: string): number | undefined {
  let at: number | undefined
  visit(parsed, (_, node) => {
    if (!(isMap(node) || isSeq(node)) || !node.range) return
    const [from, to] = node.range
    if (text[from] === begin && text[to - 1] !== end) at = from
  })
  return at
}

// The parser reports a missing quotation mark at the end of the text that it has read.
function missing(slip: Slip): Fault {
  const { message, text, offset, parsed } = slip
  const [, mark] = /closing (["'])/.exec(message) ?? []
  if (mark !== undefined)
    return {
      text: `the quotation mark ${mark} that begins here is not closed`,
      offset: quoteBefore(parsed, offset),
    }
  if (message.startsWith('Missing ,')) return { text: 'a comma is missing before this', offset }
  if (message.startsWith('Sequence item')) {
    const told =
      'the indentation is wrong: this line is in a list, and neither begins an item nor belongs to one'
    return { text: told, offset: afterBlank(text, offset) }
  }
  if (!message.startsWith('Implicit map key')) return openBracket(slip) ?? { text: message, offset }
  const told =
    'a colon and a blank must follow a name; a text that goes on from the line before is indented deeper'
  return { text: told, offset: afterBlank(text, offset) }
}

// Returns where the last quoted text before an offset begins.
function quoteBefore(parsed: Document.Parsed, offset: number): number {
  let begin = offset
  visit(parsed, (_, node) => {
    const { type, range } = isScalar(node) ? (node as Scalar.Parsed) : {}
    if (type?.startsWith('QUOTE_') && range !== undefined && range[0] < offset) begin = range[0]
  })
  return begin
}

function twice({ text, offset, parsed }: Slip): Fault {
  let name = lineFrom(text, offset).slice(0, shownMax)
  visit(parsed, {
    Pair(_, { key }) {
      if (isScalar(key) && key.range?.[0] === offset) name = String(key.value)
    },
  })
  return { text: `Map keys must be unique: ${name} is here a second time`, offset }
}

function unexpected({ message, text, offset }: Slip): Fault {
  const letter = text[offset] ?? ''
  if (message.includes('in YAML stream')) return { text: `${letter} closes nothing that is open`, offset }
  if (!message.includes('at node end')) return { text: message, offset }
  const told = '[]{},'.includes(letter)
    ? `${letter} is not expected here: a text with brackets, braces or commas must be in quotes`
    : 'the value before this has ended: if this belongs to it, all of it must be in quotes'
  return { text: told, offset }
}

function startOfLine(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1
}

function lineFrom(text: string, offset: number): string {
  return /^[^\r\n]*/.exec(text.slice(offset))?.[0] ?? ''
}

function lineAround(text: string, offset: number): string {
  return lineFrom(text, startOfLine(text, offset))
}

function afterBlank(text: string, offset: number): number {
  let at = offset
  while (/\s/.test(text[at] ?? '')) at += 1
  return at < text.length ? at : offset
}
