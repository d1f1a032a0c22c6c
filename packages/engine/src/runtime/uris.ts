// The formats of URIs. Each expression repeats classes of characters and nothing else: V8 keeps a state for
// every repetition of a group, such as `(?:a|b)*`, and overflows the stack on a text of some megabytes. A
// rule that no class can express, such as two digits after a percent sign, is checked separately.

import { isIPv6 } from 'node:net'

// RFC 3986, appendix A. The host in brackets is checked separately.
const characters = (others: string) => `[\\w\\-.~!$&'()*+,;=%${others}]`
const pchar = characters(':@')
const segments = `(?:/${characters(':@/')}*)?`
const authority = `(?:${characters(':')}*@)?(?:\\[([^\\]]*)\\]|${characters('')}*)(?::\\d*)?`
const from = (firstSegment: string) =>
  `(?://${authority}${segments}|/(?:${pchar}+${segments})?|(?:${firstSegment}+${segments})?)` +
  `(?:\\?${characters(':@/?')}*)?(?:#${characters(':@/?')}*)?$`
const uri = new RegExp(`^[a-z][a-z\\d+.-]*:${from(pchar)}`, 'i')
const relativeReference = new RegExp(`^${from(characters('@'))}`, 'i')
const barePercent = /%(?![\da-f]{2})/i

export function isUri(text: string): boolean {
  return !barePercent.test(text) && hasValidHost(uri.exec(text))
}

export function isUriReference(text: string): boolean {
  return isUri(text) || (!barePercent.test(text) && hasValidHost(relativeReference.exec(text)))
}

function hasValidHost(match: RegExpExecArray | null): boolean {
  const [, bracketed] = match ?? []
  if (match === null || bracketed === undefined) return match !== null
  return (
    (isIPv6(bracketed) && !bracketed.includes('%')) || /^v[\da-f]+\.[\w\-.~!$&'()*+,;=:]+$/i.test(bracketed)
  )
}

// RFC 6570, section 2.
const otherLiterals = /[^!#$%&'()*+,\-./:;=?@\w[\]~\x80-\uffff]/
const operators = '+#./;?&=,!@|'

export function isUriTemplate(text: string): boolean {
  if (barePercent.test(text)) return false
  let from = 0
  while (from < text.length) {
    const start = text.indexOf('{', from)
    const literals = text.slice(from, start === -1 ? undefined : start)
    if (literals.includes('}') || otherLiterals.test(literals)) return false
    if (start === -1) return true
    const end = endOfExpression(text, start)
    if (end === undefined) return false
    from = end
  }
  return true
}

// Returns undefined if there is no valid expression.
function endOfExpression(text: string, start: number): number | undefined {
  let at = start + 1
  if (operators.includes(text[at] ?? ' ')) at++
  for (;;) {
    const end = endOfVariable(text, at)
    if (end === undefined) return undefined
    if (text[end] === '}') return end + 1
    if (text[end] !== ',') return undefined
    at = end + 1
  }
}

const nameCharacter = /[\w%]/
const maxLength = /:[1-9]\d{0,3}/y

function endOfVariable(text: string, start: number): number | undefined {
  let at = start
  while (nameCharacter.test(text[at] ?? ' ') || (text[at] === '.' && at > start && text[at - 1] !== '.')) at++
  if (at === start || text[at - 1] === '.') return undefined
  if (text[at] === '*') return at + 1
  if (text[at] !== ':') return at
  maxLength.lastIndex = at
  return maxLength.test(text) ? maxLength.lastIndex : undefined
}
