// The media type that an Accept prefers (RFC 9110, section 12.5.1): cases, hostile headers, and random ones
// compared with a small reference written from the text of the section.

import { maxHeaderSize } from 'node:http'
import t from 'tap'
import type { Content } from '../../../src/document/contract.js'
import { createPreference } from '../../../src/serve/request/accept.js'

const kinds: Readonly<Record<string, Content['kind']>> = { 'application/json': 'json', 'text/csv': 'csv' }

function contentsOf(...mediaTypes: readonly string[]): Content[] {
  return mediaTypes.map((mediaType) => ({ mediaType, kind: kinds[mediaType] ?? 'bytes' }))
}

t.test('cases', (t) => {
  const [json, csv, xml] = ['application/json', 'text/csv', 'application/xml']
  const cases: readonly (readonly [
    declared: readonly string[],
    accept: string | undefined,
    chosen?: string,
  ])[] = [
    // Nothing is preferred: the first of the document.
    [[json, csv], undefined, json],
    [[csv, json], undefined, csv],
    [[csv, json], '*/*', csv],
    [[csv, json], ' */* ', csv],
    [[csv, json], '*/*;q=0.1', csv],
    [[csv, json], '', csv],
    [[csv, json], ' , ,', csv],
    [[csv, json], `${json}, ${csv}`, csv],
    [[csv, json], `${json};q=0.5, ${csv};q=0.5`, csv],
    // Quality.
    [[json, csv], csv, csv],
    [[json, csv], `${json};q=0.8, ${csv};q=0.9`, csv],
    [[json, csv], `${json};q=0.001, ${csv};q=0`, json],
    [[json, csv], `${json};q=0, */*`, csv],
    [[json, csv], `${json};q=0, */*;q=0.1`, csv],
    [[json, csv], 'text/*;q=0.9, */*;q=0.8', csv],
    [[json, csv], 'TEXT/CSV ; Q=0.9 , Application/JSON;q=0.8', csv],
    [[json, csv], `${json};q=0.5, ${json};q=0.9, ${csv};q=0.7`, json],
    // The more specific range wins.
    [[json, csv], `${csv}, */*`, csv],
    [[json, csv], 'text/*, */*', csv],
    [[json, csv], `*/*, ${csv}`, csv],
    [[json, csv, xml], `application/*, ${xml}`, xml],
    // The headers of axios, Chrome, Firefox, curl and Java.
    [[csv, json], 'application/json, text/plain, */*', json],
    [
      ['text/html', json],
      'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
      'text/html',
    ],
    [[json, csv], 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', json],
    [[json, xml], 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', xml],
    [[json, csv], 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', json],
    // Nothing is acceptable.
    [[json, csv], 'text/html'],
    [[json, csv], `${json};q=0, ${csv};q=0.0`],
    [[json, csv], '*/*;q=0'],
    [[json], `${json};q=0, text/*`],
    // Parameters, as clients send them.
    [[json, csv], `${csv};charset=utf-8`, csv],
    [[json, csv], `${csv};charset="UTF-8";header=present`, csv],
    [[json, csv], `${csv};charset=utf-16, ${json};q=0.1`, json],
    [[json, csv], `${csv};header=absent`],
    // In UTF-8, like every type without a charset.
    [[json, 'text/event-stream'], 'text/event-stream; charset=utf-8', 'text/event-stream'],
    [[json, 'text/event-stream'], 'text/event-stream;charset="UTF8"', 'text/event-stream'],
    [[json, 'text/event-stream'], 'text/event-stream; charset=utf-16'],
    [
      [`${json};version=1`, 'application/vnd.a+json'],
      'application/vnd.a+json, application/json;version=1',
      `${json};version=1`,
    ],
    [
      ['application/pdf', 'application/pdf2;v="a;b,\\"c"'],
      'application/pdf;q=0.9,application/pdf2;v="a;b,\\"c"',
      'application/pdf2;v="a;b,\\"c"',
    ],
    [[json, csv], `${json};q=0.2;a=1, ${csv};q=0.1`, csv],
    [[json, csv], `${json};;q=0.2;, ${csv}`, csv],
    // RFC 9110: a parameter makes a range more specific than none.
    [
      ['text/plain;format=flowed', 'text/plain2'],
      'text/plain;q=0.1, text/plain;format=flowed, text/plain2;q=0.5',
      'text/plain;format=flowed',
    ],
    [
      ['text/plain;format=flowed', 'text/plain2'],
      'text/plain, text/plain;format=flowed;q=0.1, text/plain2;q=0.5',
      'text/plain2',
    ],
    // A malformed element is ignored.
    [[csv, json], `${json};q=1;q=0.1`, csv],
    [[json, csv], 'json, text/csv', csv],
    [[csv, json], 'text, csv', csv],
    [[csv, json], '*/json, */*;q=x, text/csv;q=-1, text /csv', csv],
    [[csv, json], `${json};a, ${json};a="`, csv],
    [[csv, json], `${csv};q=x, ${json};q=0.1`, json],
    [[csv, json], `${csv};q=0.1, ${json};q=7`, json],
    [[json, csv], `${json};a="b, ${csv}`, json],
    // Declared ranges: the type that the client names, or the range.
    [[json, 'image/*'], 'image/png', 'image/png'],
    [[json, 'image/*'], 'image/png;q=0.5, IMAGE/webp', 'image/webp'],
    [[json, 'image/*'], 'image/*', 'image/*'],
    [[json, 'image/*'], '*/*', json],
    [['image/*', json], '*/*', 'image/*'],
    [['image/*', json], 'image/png;q=0.5, */*', 'image/*'],
    [['image/*', json], 'image/png;q=0, image/*', 'image/*'],
    [['image/*', json], 'image/png;q=0'],
    [[json, '*/*'], 'text/html', 'text/html'],
    [[json, '*/*'], 'text/*', 'text/*'],
    [[json, '*/*'], `${json}, text/html`, json],
    [['image/png', 'image/*'], 'image/webp;q=0.9, image/png', 'image/png'],
    [['image/*'], 'text/html'],
  ]
  for (const [declared, accept, chosen] of cases)
    t.equal(createPreference(contentsOf(...declared))(accept), chosen, `${declared.join(' ')}: ${accept}`)
  t.end()
})

// Follows the section sentence by sentence: "the most specific reference has precedence", then the quality.
// Then come this server's own rules: the specificity of the range, then the order of the document.
function reference(declared: readonly string[], accept: readonly Element[]): string | undefined {
  const judged = declared.map((mediaType, order) => {
    const matching = accept.filter(({ range }) =>
      ['*/*', `${mediaType.split('/')[0]}/*`, mediaType].includes(range),
    )
    const specificity = (range: string) => (range === '*/*' ? 0 : range.endsWith('/*') ? 1 : 2)
    const most = Math.max(...matching.map(({ range }) => specificity(range)))
    const deciding = matching.filter(({ range }) => specificity(range) === most).map(({ q }) => q)
    return { mediaType, order, most, quality: deciding.length === 0 ? 0 : Math.max(...deciding) }
  })
  const [first] = judged
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality || b.most - a.most || a.order - b.order)
  return first?.mediaType
}

interface Element {
  readonly range: string
  readonly q: number
}

t.test('random headers are judged as the section says', (t) => {
  let seed = 7
  const below = (count: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31
    return Math.floor((seed / 2 ** 31) * count)
  }
  const types = ['a/x', 'a/y', 'b/x', 'b/z', 'c/x']
  const ranges = [...types, 'a/*', 'b/*', '*/*', 'd/x', 'd/*']
  const spaced = () => ['', ' ', '\t'][below(3)] ?? ''
  for (let run = 0; run < 5_000; run++) {
    const declared = types.filter(() => below(2) === 0)
    if (declared.length === 0) continue
    const accept = Array.from({ length: 1 + below(5) }, () => {
      return { range: ranges[below(ranges.length)] ?? '', q: [0, 0.1, 0.5, 1][below(4)] ?? 0 }
    })
    const text = accept.map(({ range, q }) => {
      const weight = q === 1 && below(2) === 0 ? '' : `;${spaced()}q=${below(2) === 0 ? q : q.toFixed(3)}`
      return `${spaced()}${below(4) === 0 ? range.toUpperCase() : range}${spaced()}${weight}`
    })
    const chosen = createPreference(contentsOf(...declared))(text.join(`${spaced()},`))
    if (chosen !== reference(declared, accept)) t.equal(chosen, reference(declared, accept), text.join())
  }
  t.end()
})

t.test('the longest header that Node accepts is cheap, whatever it says', (t) => {
  const prefer = createPreference(contentsOf('application/json', 'text/csv', 'image/*'))
  const hostile: Readonly<Record<string, (length: number) => string>> = {
    'any types': (length) => '*/*,'.repeat(length / 4),
    ranges: (length) => 'a/b,'.repeat(length / 4),
    quotes: (length) => '"'.repeat(length),
    'escaped quotes': (length) => '\\"'.repeat(length / 2),
    'an open quote': (length) => `text/csv;a="${'\\"'.repeat(length / 2)}`,
    parameters: (length) => `text/csv${';a=b'.repeat(length / 4)}`,
    separators: (length) => ';,'.repeat(length / 2),
    blanks: (length) => ' '.repeat(length),
    'blanks before a type': (length) => `${' '.repeat(length)}x${' '.repeat(length)}`,
    images: (length) => 'image/a,'.repeat(length / 8),
    digits: (length) => `text/csv;q=${'1'.repeat(length)}x`,
  }
  // Each takes about 1 ms; with quadratic time, it would be more than a second.
  for (const [name, make] of Object.entries(hostile)) {
    const header = make(maxHeaderSize)
    const times = [1, 2, 3].map(() => cpuMs(() => prefer(header)))
    t.ok(Math.min(...times) < 100, `${name}: ${times.map((each) => each.toFixed(1)).join(', ')} ms`)
  }
  t.end()
})

// Measures this process only, whatever else the machine does.
function cpuMs(run: () => unknown): number {
  const start = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1_000
}
