// Splits a file of SQL into its statements, so that each error can name a line. PostgreSQL gives the position
// of an unknown name, but not which statement failed, for example at a row that violates a constraint.

export interface Statement {
  /** Without the semicolon, and without comments before it. */
  readonly text: string
  /** The same, with a blank for each comment. */
  readonly code: string
  /** The index of its first character in the file. */
  readonly start: number
}

interface Token {
  readonly text: string
  readonly index: number
}

// Does not check that strings and comments end: PostgreSQL reports that.
const tokens = new RegExp(
  [
    String.raw`--[^\n]*|/\*`, // a comment, or the begin of one that may contain others
    String.raw`[eE]'(?:[^'\\]|\\.|'')*'|'[^']*'`, // a string, with or without escapes
    String.raw`"[^"]*"|\$([\p{L}_][\p{L}\p{N}_]*)?\$.*?\$\1\$`, // a quoted name, a dollar-quoted string
    String.raw`[\p{L}_][\p{L}\p{N}_$]*|\s+|.`, // a name, space, anything else
  ].join('|'),
  'gsu',
)

/** Returns the statements of a file. A body of SQL (`begin atomic`) takes in all statements after it. */
export function statementsOf(file: string): Statement[] {
  const statements: Statement[] = []
  let current: Token[] = []
  let depth = 0 // a rule has statements in parentheses
  const end = (index: number) => {
    if (current.length > 0) statements.push(statementOf(file, current, index))
    current = []
    depth = 0
  }
  for (const token of tokensOf(file)) {
    if (token.text === '(') depth++
    if (token.text === ')') depth--
    if (/^atomic$/i.test(token.text)) depth = Number.POSITIVE_INFINITY
    if (token.text === ';' && depth <= 0) end(token.index)
    else if (current.length > 0 || !isBlank(token)) current.push(token)
  }
  end(file.length)
  return statements
}

function statementOf(file: string, all: readonly Token[], end: number): Statement {
  const start = all[0]?.index ?? end
  const code = all.map((token) => (isBlank(token) ? ' ' : token.text)).join('')
  return { text: file.slice(start, end), code, start }
}

function isBlank({ text }: Token): boolean {
  return /^(\s|--|\/\*)/.test(text)
}

function* tokensOf(file: string): Generator<Token> {
  tokens.lastIndex = 0
  for (let match = tokens.exec(file); match !== null; match = tokens.exec(file)) {
    const { index } = match
    if (match[0] === '/*') tokens.lastIndex = endOfComment(file, index)
    yield { text: file.slice(index, tokens.lastIndex), index }
  }
}

function endOfComment(file: string, start: number): number {
  let depth = 0
  for (const { 0: mark, index } of file.slice(start).matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1
    if (depth === 0) return start + index + mark.length
  }
  return file.length
}

/**
 * Returns the line and column of a character, from 1. Columns count code points, as PostgreSQL's positions
 * do.
 */
export function placeOf(file: string, index: number): { readonly line: number; readonly column: number } {
  const lines = file.slice(0, index).split('\n')
  return { line: lines.length, column: [...(lines.at(-1) ?? '')].length + 1 }
}
