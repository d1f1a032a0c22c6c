// The comparison as a picture: for each operation a group of bars, requests a second.

import type { Turn } from './comparison.js'
import { operations } from './operations.js'
import { type Titles, whole } from './report.js'
import { spreadOf } from './statistics.js'

const width = 860
const barHeight = 16
const labelWidth = 400
const numberWidth = 70
const groupGap = 34
const colors = ['#1f6feb', '#8b949e', '#8b949e', '#8b949e', '#8b949e', '#d0d7de', '#d0d7de']

/** An SVG image of the medians, with whiskers from the slowest to the fastest round. */
export function plot(turns: readonly Turn[], titles: Titles): string {
  let y = 8
  const groups = operations.map(({ name, title }) => {
    const bars = titles.flatMap((subject, i) => {
      const rates = turns
        .filter((turn) => turn.subject === subject.name && turn.operation === name)
        .map(({ requestsPerSecond }) => requestsPerSecond)
      return rates.length === 0
        ? []
        : [{ title: subject.title, color: colors[i] ?? '#d0d7de', spread: spreadOf(rates) }]
    })
    const longest = Math.max(...bars.map(({ spread }) => spread.max))
    const heading = text(8, y + 13, `${title}, requests/s`, 'font-weight="bold"')
    y += 22
    const drawn = bars.map((bar) => {
      const drawing = drawBar(bar, y, longest)
      y += barHeight + 4
      return drawing
    })
    y += groupGap - 18
    return [heading, ...drawn].join('\n')
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" font-family="system-ui, sans-serif" font-size="12">
<title>Requests a second of each service at each operation</title>
<rect width="${width}" height="${y}" fill="#ffffff"/>
${groups.join('\n')}
</svg>
`
}

interface Bar {
  readonly title: string
  readonly color: string
  readonly spread: { readonly min: number; readonly median: number; readonly max: number }
}

function drawBar({ title, color, spread }: Bar, y: number, longest: number): string {
  const length = (rate: number) => ((width - labelWidth - numberWidth) * rate) / longest
  const middle = y + barHeight / 2
  const [from, to] = [labelWidth + length(spread.min), labelWidth + length(spread.max)]
  return [
    text(labelWidth - 8, y + 12, title, 'text-anchor="end"'),
    `<rect x="${labelWidth}" y="${y}" width="${length(spread.median).toFixed(1)}" height="${barHeight}" fill="${color}"/>`,
    `<line x1="${from.toFixed(1)}" x2="${to.toFixed(1)}" y1="${middle}" y2="${middle}" stroke="#1b1f24"/>`,
    text(Math.max(to, labelWidth + length(spread.median)) + 6, y + 12, whole(spread.median), ''),
  ].join('\n')
}

function text(x: number, y: number, content: string, attributes: string): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text x="${x.toFixed(1)}" y="${y}" fill="#1b1f24" ${attributes}>${escaped}</text>`
}
