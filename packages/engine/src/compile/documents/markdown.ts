// Renders Markdown as HTML, for the plain page: paragraphs, headings, lists, tables, quotes, code, bold and
// links. Anything else, HTML included, is shown as it is written.

/** Escapes a text for HTML, also as the value of a quoted attribute. */
export function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character)
}

/** The id of a heading. */
export function headingId(title: string): string {
  return title.replace(/[^\p{L}\p{N}_/{}.-]+/gu, '-')
}

/** Renders a text. Its headings have ids. */
export function markdownToHtml(text: string): string {
  return blocksOf(text).map(blockToHtml).join('\n')
}

// A code block may contain blank lines, which end all other blocks.
function blocksOf(text: string): string[][] {
  const blocks: string[][] = [[]]
  let isCode = false
  for (const line of text.replaceAll('\r', '').split('\n')) {
    const isFence = line.startsWith('```')
    if ((isFence && !isCode) || (line.trim() === '' && !isCode)) blocks.push([])
    if (line.trim() !== '' || isCode) blocks.at(-1)?.push(line)
    if (isFence) isCode = !isCode
    if (isFence && !isCode) blocks.push([])
  }
  return blocks.filter((lines) => lines.length > 0)
}

function blockToHtml(lines: readonly string[]): string {
  const [first = '', second = ''] = lines
  if (first.startsWith('```'))
    return `<pre>${escapeHtml(lines.filter((line) => !line.startsWith('```')).join('\n'))}</pre>`
  const heading = /^(#{1,6}) (.*)/.exec(first)
  if (heading !== null) return withHeading(heading, lines.slice(1))
  if (first.startsWith('|') && /^\|[\s|:-]+$/.test(second)) return table(lines)
  if (first.startsWith('> ')) return `<blockquote>${inline(lines.join('\n').slice(2))}</blockquote>`
  const list = /^ {0,3}(?:[-*]|(\d{1,9})\.) /.exec(first)
  if (list !== null) return items(lines, list[1] === undefined ? 'ul' : 'ol')
  return `<p>${inline(lines.join('\n'))}</p>`
}

function withHeading([, marks = '', title = '']: readonly string[], rest: readonly string[]): string {
  const tag = `h${marks.length}`
  // headings of lower levels recur: "Parameters"
  const id = marks.length > 3 ? '' : ` id="${headingId(title)}"`
  const heading = `<${tag}${id}>${inline(title)}</${tag}>`
  return rest.length === 0 ? heading : `${heading}\n${blockToHtml(rest)}`
}

function items(lines: readonly string[], tag: string): string {
  const texts: string[] = []
  for (const line of lines) {
    const [mark] = /^\s*(?:[-*]|\d{1,9}\.) /.exec(line) ?? []
    if (mark !== undefined) texts.push(line.slice(mark.length))
    else texts.push(`${texts.pop()}\n${line.trim()}`)
  }
  return `<${tag}>${texts.map((text) => `<li>${inline(text)}</li>`).join('')}</${tag}>`
}

function table([head = '', , ...rows]: readonly string[]): string {
  const row = (line: string, tag: string) => {
    const cells = line.replace(/^\||\|\s*$/g, '').split(/(?<!\\)\|/)
    const html = cells.map((cell) => `<${tag}>${inline(cell.trim().replaceAll('\\|', '|'))}</${tag}>`)
    return `<tr>${html.join('')}</tr>`
  }
  const body = rows.map((line) => row(line, 'td')).join('\n')
  return `<table><thead>${row(head, 'th')}</thead><tbody>\n${body}</tbody></table>`
}

// Matches code, bold and links. The lengths are bounded, so that no text takes long.
const marks =
  /`([^`]+)`|\*\*((?:[^*`\n]|`[^`\n]{1,500}`){1,500})\*\*|\[([^[\]]{1,500})\]\(([^()\s]{1,2000})\)/g

function inline(text: string): string {
  let html = ''
  let end = 0
  for (const match of text.matchAll(marks)) {
    html += escapeHtml(text.slice(end, match.index)) + marked(match)
    end = match.index + match[0].length
  }
  return html + escapeHtml(text.slice(end))
}

// A link may lead to the web or to this service, but never to `javascript:`.
function marked([all, code, bold, shown, target]: RegExpMatchArray): string {
  if (code !== undefined) return `<code>${escapeHtml(code)}</code>`
  if (bold !== undefined) return `<strong>${inline(bold)}</strong>`
  const isSafe = /^(?:https?:\/\/|mailto:|[\w./#?=&-]+$)/i.test(target ?? '')
  return isSafe ? `<a href="${escapeHtml(target ?? '')}">${inline(shown ?? '')}</a>` : escapeHtml(all)
}
