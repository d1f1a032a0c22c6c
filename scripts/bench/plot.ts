// Draws a comparison as a bar chart: a group of bars for each load, in requests per second.

import { type Comparison, formatInteger } from './report.js'
import { type Spread, spreadOf } from './statistics.js'

const width = 860
const barHeight = 16
const barStep = barHeight + 4
const headingHeight = 22
const groupGap = 16
const labelWidth = 400
const numberWidth = 70
const [ownColor, otherColor, textColor] = ['#1f6feb', '#8b949e', '#1b1f24']

/** Returns an SVG of the medians, with whiskers from the slowest to the fastest round. */
export function plot({ measurements, subjects, loads }: Comparison): string {
  let y = 8
  const groups = loads.map((load) => {
    const bars = subjects.flatMap(({ name, title }, i) => {
      const own = measurements.filter((each) => each.subject === name && each.load === load.name)
      const spread = spreadOf(own.map(({ requestsPerSecond }) => requestsPerSecond))
      return own.length === 0 ? [] : [{ title, color: i === 0 ? ownColor : otherColor, spread }]
    })
    const longest = Math.max(...bars.map(({ spread }) => spread.max))
    const heading = text(8, y + 13, `${load.title}, requests/s`, 'font-weight="bold"')
    y += headingHeight
    const drawn = bars.map((bar, i) => drawBar(bar, y + i * barStep, longest))
    y += bars.length * barStep + groupGap
    return [heading, ...drawn].join('\n')
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" font-family="system-ui, sans-serif" font-size="12">
<title>Requests per second of each service under each load</title>
<rect width="${width}" height="${y}" fill="#ffffff"/>
${groups.join('\n')}
</svg>
`
}

interface Bar {
  readonly title: string
  readonly color: string
  readonly spread: Spread
}

function drawBar({ title, color, spread }: Bar, y: number, longest: number): string {
  const length = (rate: number) => ((width - labelWidth - numberWidth) * rate) / longest
  const middle = y + barHeight / 2
  const [from, to] = [labelWidth + length(spread.min), labelWidth + length(spread.max)]
  return [
    text(labelWidth - 8, y + 12, title, 'text-anchor="end"'),
    `<rect x="${labelWidth}" y="${y}" width="${length(spread.median).toFixed(1)}" height="${barHeight}" fill="${color}"/>`,
    `<line x1="${from.toFixed(1)}" x2="${to.toFixed(1)}" y1="${middle}" y2="${middle}" stroke="${textColor}"/>`,
    text(Math.max(to, labelWidth + length(spread.median)) + 6, y + 12, formatInteger(spread.median), ''),
  ].join('\n')
}

function text(x: number, y: number, content: string, attributes: string): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text x="${x.toFixed(1)}" y="${y}" fill="${textColor}" ${attributes}>${escaped}</text>`
}
