// A text that a pattern allows: its alternatives one by one, repetitions as few as they may be, or more for a
// longer text. What looks around or refers back is passed over: who asks holds the text against the pattern.

/** A choice among a number of ways, from 0. */
export type Choose = (ways: number) => number

/**
 * A text by the syntax of a pattern, in which it need not be the whole text.
 * @param more how many times what may be repeated is, beyond what it must
 */
export function patternText(pattern: string, more: number, choose: Choose): string {
  return new Writer(pattern, more, choose).text()
}

const digits = '0123456789'
const letters = 'abcdefghijklmnopqrstuvwxyz'
const word = `${letters}${letters.toUpperCase()}${digits}_`
// What a class without some characters may still have.
const any = `${letters}${letters.toUpperCase()}${digits}-_. ~!#$%&()*+,/:;<=>?@[]^{|}"'\\é`

const classes: Readonly<Record<string, string>> = {
  d: digits,
  w: word,
  s: ' ',
  D: letters,
  W: '-. ',
  S: word,
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v', 0: '\0' }

class Writer {
  #at = 0

  constructor(
    readonly pattern: string,
    readonly more: number,
    readonly choose: Choose,
  ) {}

  text(): string {
    const ways = [this.#sequence()]
    while (this.#takes('|')) ways.push(this.#sequence())
    return ways[this.choose(ways.length)] ?? ''
  }

  #sequence(): string {
    let text = ''
    while (this.#at < this.pattern.length && !'|)'.includes(this.#next)) {
      const start = this.#at
      const atom = this.#atom()
      const times = this.#times()
      text += atom
      // Each time anew, so that what is chosen may differ.
      const end = this.#at
      for (let i = 1; i < times; i++) {
        this.#at = start
        text += this.#atom()
      }
      if (times === 0) text = text.slice(0, text.length - atom.length)
      this.#at = end
    }
    return text
  }

  get #next(): string {
    return this.pattern[this.#at] ?? ''
  }

  #takes(text: string): boolean {
    const isThere = this.pattern.startsWith(text, this.#at)
    if (isThere) this.#at += text.length
    return isThere
  }

  #atom(): string {
    if (this.#takes('^') || this.#takes('$')) return ''
    if (this.#takes('(')) return this.#group()
    if (this.#takes('[')) return this.#oneOf(this.#class())
    if (this.#takes('.')) return this.#oneOf(letters)
    if (this.#takes('\\')) return this.#oneOf(this.#escaped())
    const character = String.fromCodePoint(this.pattern.codePointAt(this.#at) ?? 0)
    this.#at += character.length
    return character
  }

  #oneOf(characters: string): string {
    const all = [...characters]
    return all[this.choose(all.length)] ?? ''
  }

  #group(): string {
    const isAround = ['?=', '?!', '?<=', '?<!'].some((each) => this.#takes(each))
    if (!isAround && !this.#takes('?:') && this.#takes('?<'))
      this.#at = this.pattern.indexOf('>', this.#at) + 1
    const text = this.text()
    this.#takes(')')
    return isAround ? '' : text
  }

  // How many times the atom before is written.
  #times(): number {
    const [all = '', least, comma, most] = /^\{(\d+)(,?)(\d*)\}/.exec(this.pattern.slice(this.#at)) ?? []
    let [min, max] = [1, 1]
    if (least !== undefined) {
      this.#at += all.length
      min = Number(least)
      max = comma === '' ? min : most === '' ? Number.POSITIVE_INFINITY : Number(most)
    } else if (this.#takes('*')) [min, max] = [0, Number.POSITIVE_INFINITY]
    else if (this.#takes('+')) [min, max] = [1, Number.POSITIVE_INFINITY]
    else if (this.#takes('?')) [min, max] = [0, 1]
    else return 1
    this.#takes('?') // lazy
    return Math.min(max, min + this.more, timesMax)
  }

  // What is behind a backslash: the characters that it stands for.
  #escaped(): string {
    const [all = '', hex] =
      /^(?:u\{([\da-f]+)\}|u[\da-f]{4}|x[\da-f]{2})/i.exec(this.pattern.slice(this.#at)) ?? []
    if (all !== '') {
      this.#at += all.length
      return String.fromCodePoint(Number.parseInt(hex ?? all.slice(1), 16))
    }
    const [property = ''] = /^[pP]\{[^}]*\}/.exec(this.pattern.slice(this.#at)) ?? []
    if (property !== '') {
      this.#at += property.length
      return property.startsWith('p') ? ofProperty(property) : '-'
    }
    const character = this.#next
    this.#at++
    if (/[bB]/.test(character)) return ''
    return classes[character] ?? escapes[character] ?? character
  }

  #class(): string {
    const isWithout = this.#takes('^')
    let all = ''
    for (let isFirst = true; this.#at < this.pattern.length && !this.#takes(']'); isFirst = false) {
      const from = this.#member()
      const isRange =
        from.length === 1 && this.#next === '-' && !']'.includes(this.pattern[this.#at + 1] ?? ']')
      if (!isRange) all += from
      else {
        this.#at++
        all += between(from, this.#member())
      }
      if (isFirst && all === '') continue
    }
    return isWithout ? [...any].filter((each) => !all.includes(each)).join('') : all
  }

  #member(): string {
    if (this.#takes('\\')) return this.#escaped() || '\b'
    const character = String.fromCodePoint(this.pattern.codePointAt(this.#at) ?? 0)
    this.#at += character.length
    return character
  }
}

const timesMax = 100_000

function ofProperty(property: string): string {
  if (/\{(?:N|Nd|Number)/.test(property)) return digits
  if (/\{(?:Lu|Upper)/.test(property)) return letters.toUpperCase()
  return /\{(?:P|S|Z)/.test(property) ? '-' : letters
}

// A range of more characters is known by its first ones.
const rangeMax = 200

function between(from: string, to: string): string {
  const [first, last] = [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0]
  const count = Math.max(1, Math.min(last - first + 1, rangeMax))
  return Array.from({ length: count }, (_, i) => String.fromCodePoint(first + i)).join('')
}
