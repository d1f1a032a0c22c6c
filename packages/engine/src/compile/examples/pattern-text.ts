// Writes a text that a pattern allows. It chooses an alternative wherever there are some, and repeats as few
// times as it may, or more for a longer text. It ignores lookarounds and back references, so the caller must
// test the text against the pattern.

/** Chooses a number from 0 to below `ways`. */
export type Choose = (ways: number) => number

/**
 * Returns a text by the syntax of a pattern. The pattern need not describe the whole text.
 * @param more how many times a repeated part is written beyond its minimum
 */
export function patternText(pattern: string, more: number, choose: Choose): string {
  return new Writer(pattern, more, choose).text()
}

const digits = '0123456789'
const letters = 'abcdefghijklmnopqrstuvwxyz'
const word = `${letters}${letters.toUpperCase()}${digits}_`
// The characters that a negated class may still have.
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
      // Each repetition is written anew, so that its choices may differ.
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

  // Returns how many times the preceding atom is written.
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
    this.#takes('?') // a lazy quantifier
    return Math.min(max, min + this.more, timesMax)
  }

  // Reads what follows a backslash, and returns the characters that it stands for.
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

// A longer range is represented by its first characters.
const rangeMax = 200

function between(from: string, to: string): string {
  const [first, last] = [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0]
  const count = Math.max(1, Math.min(last - first + 1, rangeMax))
  return Array.from({ length: count }, (_, i) => String.fromCodePoint(first + i)).join('')
}
