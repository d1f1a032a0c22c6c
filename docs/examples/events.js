// Reads a stream of events in a page that has a bearer key, which `EventSource` cannot send:
//
//   for await (const { id, event, data } of events('/v1/pets/feed', key)) show(JSON.parse(data))

const leastMs = 1_000

/**
 * The events of a URL. After a cut, a 429 or a 503 it goes on behind the last event, until a 204 or the end of the
 * loop. Rejects at any other response.
 */
export async function* events(url, key, signal) {
  let [lastId, waitMs] = ['', 2_000]
  while (true) {
    const headers = { Accept: 'text/event-stream', Authorization: `Bearer ${key}` }
    if (lastId !== '') headers['Last-Event-ID'] = lastId
    const response = await fetch(url, { headers, cache: 'no-store', signal }).catch(() => undefined)
    signal?.throwIfAborted()
    if (response?.status === 204) return
    if (response?.status === 200)
      for await (const { retry, ...event } of eventsOf(response.body)) {
        lastId = event.id ?? lastId
        waitMs = retry ?? waitMs
        if (event.data !== undefined) yield { ...event, id: lastId }
      }
    else if (response !== undefined && ![429, 503].includes(response.status))
      throw new Error(`${response.status}: ${await response.text()}`)
    const toldMs = 1_000 * (Number.parseInt(response?.headers.get('Retry-After'), 10) || 0)
    await new Promise((resolve) => setTimeout(resolve, Math.max(waitMs, toldMs, leastMs)))
  }
}

// Of a body, until it ends or is cut. As it has no end of its own, an event without its empty line is none.
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    let text = ''
    while (true) {
      const { value } = await reader.read().catch(() => ({}))
      if (value === undefined) return
      const blocks = `${text}${value}`.split('\n\n')
      text = blocks.pop()
      for (const block of blocks) yield eventOf(block)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

// The service ends each line with a line feed, and writes a space behind each colon.
function eventOf(block) {
  const event = { event: 'message' }
  for (const [, name, value] of block.matchAll(/^(id|event|data|retry): (.*)$/gm))
    if (name === 'retry') event.retry = Number(value)
    else event[name] = name === 'data' && event.data !== undefined ? `${event.data}\n${value}` : value
  return event
}
