// Validates the formats of strings. A value passes if its RFC allows it and PostgreSQL stores it, so that
// neither a handler nor a statement needs to check it again; values.md says where PostgreSQL allows less. A
// text may be as long as a body, so no expression repeats a group (uris.ts).

import { fullFormats } from 'ajv-formats/dist/formats.js'
import type { checkedFormats } from '../document/keywords.js'
import { isUri, isUriReference, isUriTemplate } from './uris.js'

interface Format {
  /** What a value must be, for messages: `a date, such as 2026-11-25`. */
  readonly description: string
  readonly validate: RegExp | ((text: string) => boolean)
}

/**
 * The checked formats, by name. Formats of numbers are ranges (exact-numbers.ts); any other format is an
 * annotation.
 */
export const formats: Readonly<Record<string, Format>> = {
  date: { description: 'a date, such as 2026-11-25', validate: isDate },
  'date-time': { description: 'a date and time, such as 2026-11-25T14:05:00Z', validate: isDateTime },
  time: { description: 'a time, such as 14:05:00Z', validate: isTime },
  duration: { description: 'a duration, such as P1DT12H', validate: isDuration },
  email: { description: 'an email address, such as ann@example.org', validate: isEmail },
  // RFC 1123, section 2.1, allows no dot at the end.
  hostname: { description: 'a host name, such as www.example.org', validate: known('hostname', /[^.]$/) },
  ipv4: { description: 'an IPv4 address, such as 192.0.2.1', validate: known('ipv4') },
  ipv6: { description: 'an IPv6 address, such as 2001:db8::1', validate: known('ipv6') },
  uri: { description: 'a URI, such as https://example.org/a', validate: isUri },
  url: { description: 'a URL, such as https://example.org/a', validate: isUri },
  'uri-reference': { description: 'a URI reference, such as /a?b=1', validate: isUriReference },
  'uri-template': { description: 'a URI template, such as /pets/{id}', validate: isUriTemplate },
  'json-pointer': { description: 'a JSON Pointer, such as /a/0', validate: isJsonPointer },
  'relative-json-pointer': {
    description: 'a relative JSON Pointer, such as 1/a',
    validate: isRelativeJsonPointer,
  },
  regex: { description: 'a regular expression, such as ^a+$', validate: isRegex },
  uuid: {
    description: 'a UUID, such as 6f1c1a4e-0000-4000-8000-000000000000',
    validate: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i,
  },
  byte: {
    description: 'Base64, such as aGVsbG8=',
    validate: isBase64,
  },
  base64url: {
    description: 'Base64 for URLs, such as aGVsbG8',
    validate: isBase64Url,
  },
  'http-date': {
    description: 'a date of HTTP, such as Wed, 25 Nov 2026 14:05:00 GMT',
    validate: (text) => text.length < 30 && new Date(text).toUTCString() === text,
  },
} satisfies Readonly<Record<(typeof checkedFormats)[number], Format>>

// Returns the check of ajv-formats, narrowed by a pattern.
function known(name: keyof typeof fullFormats, also = /(?:)/): (text: string) => boolean {
  const format = fullFormats[name] as RegExp | ((text: string) => boolean)
  const validate = typeof format === 'function' ? format : (text: string) => format.test(text)
  return (text) => also.test(text) && validate(text)
}

const { validate: isAnyDate } = fullFormats.date as { validate(text: string): boolean }

// PostgreSQL has no year 0.
function isDate(text: string): boolean {
  return isAnyDate(text) && !text.startsWith('0000')
}

// RFC 3339, section 5.6, with PostgreSQL's offsets, below 16 hours. PostgreSQL reads at most 128 characters.
const timePattern = /^((?:[01]\d|2[0-3]):[0-5]\d):([0-5]\d|60)(\.\d{1,64})?(z|[+-](?:0\d|1[0-5]):[0-5]\d)$/i

const firstInstant = Date.parse('0001-01-01T00:00:00Z')
const endOfInstants = Date.UTC(10_000, 0)

function isTime(text: string): boolean {
  return instantOf('1970-01-02', text) !== undefined
}

// An instant must be in the years 1 to 9999 of UTC: PostgreSQL writes any other year in a form that RFC 3339
// lacks.
function isDateTime(text: string): boolean {
  const [date, time] = [text.slice(0, 10), text.slice(11)]
  const instant = /^t$/i.test(text[10] ?? '') && isDate(date) ? instantOf(date, time) : undefined
  return instant !== undefined && instant >= firstInstant && instant < endOfInstants
}

// Returns an instant in milliseconds, rounded to microseconds as PostgreSQL does, and then down to seconds;
// undefined if the time is invalid.
function instantOf(date: string, time: string): number | undefined {
  const [, minute = '', second = '', fraction = '', offset = ''] = timePattern.exec(time) ?? []
  const seconds = Number(Number(second + fraction).toFixed(6))
  const instant = Date.parse(`${date}T${minute}:00${offset.toUpperCase()}`)
  if (Number.isNaN(instant)) return undefined
  // A leap second ends a day in UTC. PostgreSQL refuses fractions of a leap second that ends a local day,
  // too.
  if (second === '60' && !new Date(instant).toISOString().includes('T23:59')) return undefined
  if (seconds > 60 && minute === '23:59') return undefined
  return instant + Math.trunc(seconds) * 1000
}

// RFC 3339, appendix A: between two units, none may be skipped.
const durationPattern = ((): RegExp => {
  const of = (unit: string, then = '') => `(\\d{1,10})${unit}${then && `(?:${then})?`}`
  const date = `(?:${of('Y', of('M', of('D')))}|${of('M', of('D'))}|${of('D')})`
  const time = `T(?:${of('H', of('M', of('S')))}|${of('M', of('S'))}|${of('S')})`
  return new RegExp(`^P(?:${date}(?:${time})?|${time}|${of('W')})$`)
})()

// The maximum of the months, days and hours in PostgreSQL's interval, which writes 90 minutes as PT1H30M.
// Within it, what PostgreSQL writes for a duration is a valid duration, too.
const unitMax = 2 ** 31 - 1

function isDuration(text: string): boolean {
  if (!durationPattern.test(text)) return false
  const [date = '', time = ''] = text.split('T')
  const of = (part: string, unit: string) => Number(new RegExp(`(\\d+)${unit}`).exec(part)?.[1] ?? 0)
  const hours = of(time, 'H') + of(time, 'M') / 60 + of(time, 'S') / 3600
  const all = [of(date, 'Y') * 12 + of(date, 'M'), of(date, 'D') + of(date, 'W') * 7, hours]
  return all.every((each) => each <= unitMax) && of(time, 'M') <= unitMax && of(time, 'S') <= unitMax
}

// No one writes a longer pattern, and V8 takes seconds and gigabytes to read one.
const regexMax = 65_536
const isShortRegex = known('regex')

function isRegex(text: string): boolean {
  return text.length <= regexMax && isShortRegex(text)
}

// RFC 4648, sections 3.2, 4 and 5.
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z\d+/]*={0,2}$/.test(text)
}

// The padding may be left out.
function isBase64Url(text: string): boolean {
  if (text.endsWith('=') ? text.length % 4 !== 0 : text.length % 4 === 1) return false
  return /^[\w-]*={0,2}$/.test(text)
}

// RFC 6901, section 3.
function isJsonPointer(text: string): boolean {
  return (text === '' || text.startsWith('/')) && !/~(?![01])/.test(text)
}

function isRelativeJsonPointer(text: string): boolean {
  const [number] = /^(?:0|[1-9]\d*)/.exec(text) ?? []
  if (number === undefined) return false
  const rest = text.slice(number.length)
  return rest === '#' || isJsonPointer(rest)
}

// RFC 5321, section 4.1.2: a dot-string and a domain.
function isEmail(text: string): boolean {
  const at = text.indexOf('@')
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)]
  if (at === -1 || !/^[\w!#$%&'*+/=?^`{|}~.-]+$/.test(local) || /^\.|\.$|\.\./.test(local)) return false
  return domain.includes('.') && /^[A-Za-z\d.-]+$/.test(domain) && !/^[.-]|[.-]$|\.[.-]|-\./.test(domain)
}
