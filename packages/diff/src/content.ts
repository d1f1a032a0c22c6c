// Compares the content of requests and responses: media types, each with its schema.

import { responseContent } from 'contract-engine/tools'
import { report, type Spot } from './comparison.js'
import { compareForm } from './forms.js'
import { eachKey } from './node.js'
import { child, inside } from './references.js'
import { compareOpaque } from './rules.js'
import { compareSchemas } from './schemas.js'

/** Reports changes of media types and their schemas. */
export function compareContent(content: Spot): void {
  const isRequest = content.direction === 'request'
  const [before, after] = [Object.keys(content.before), Object.keys(content.after)]
  eachKey(content, {
    removed: (type) => {
      const range = isRequest ? rangeOf(type, after) : undefined
      if (range !== undefined) return compareMedia(content, type, range)
      const isNarrowed = !isRequest && after.some((other) => rangeOf(other, [type]) === type)
      report(content, isNarrowed ? 'minor' : 'major', `media type ${type} removed`, type)
    },
    added: (type) => {
      const range = isRequest ? undefined : rangeOf(type, before)
      if (range !== undefined) return compareMedia(content, range, type)
      report(content, 'minor', `media type ${type} added`, type)
    },
    kept: (type) => compareMedia(content, type, type),
  })
  if (!isRequest) compareSent(content, before, after)
}

// A client that reads the type that was sent may be unable to read another type, even one that was declared.
// If the handler names no type, the server sends its default type or, if `Accept` decides, the first type
// that matches the range in `Accept`.
function compareSent(content: Spot, before: readonly string[], after: readonly string[]): void {
  const [was, is] = [sentOf(before), sentOf(after)]
  if (was !== is && was !== undefined && is !== undefined && after.includes(was))
    report(content, 'major', `media type ${is} is sent instead of ${was}`, is)
  if (!/^[23]/.test(content.status ?? '')) return
  for (const range of ['*/*', ...new Set(before.map((type) => `${type.split('/', 1)[0]}/*`))]) {
    const [first, now] = [firstOf(range, before), firstOf(range, after)]
    const isReported = first === was && now === is
    if (first === now || isReported || first === undefined || !after.includes(first)) continue
    report(content, 'major', `media type ${now} is preferred to ${first} by Accept: ${range}`, String(now))
  }
}

function firstOf(range: string, types: readonly string[]): string | undefined {
  return types.find((type) => type === range || rangeOf(type, [range]) === range)
}

// Returns the media type of a handler's response that names none.
function sentOf(types: readonly string[]): string | undefined {
  return responseContent(
    types.map((mediaType) => ({ mediaType })),
    undefined,
  )?.mediaType
}

// Returns the media range (RFC 9110, section 12.5.1) among `types` that includes the type.
function rangeOf(type: string, types: readonly string[]): string | undefined {
  return [`${type.split('/', 1)[0]}/*`, '*/*'].find((range) => types.includes(range))
}

function compareMedia(content: Spot, was: string, is: string): void {
  const media = inside(content, content.before[was], content.after[is])
  const form = was === is ? compareForm(media, is) : undefined
  compareSchemas(form ?? child(media, 'schema'))
  compareSchemas(child(media, 'itemSchema'))
  if (form === undefined) compareOpaque(media, ['encoding'], () => `encoding of ${is}`)
  if (was !== is) report(content, 'minor', `media type ${was} -> ${is}`, is, was)
}
