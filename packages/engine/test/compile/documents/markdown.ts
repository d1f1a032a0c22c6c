import t from 'tap'
import { markdownToHtml } from '../../../src/compile/documents/markdown.js'

const cases: [name: string, markdown: string, html: string][] = [
  ['paragraphs', 'a\nb\r\n\n\nc', '<p>a\nb</p>\n<p>c</p>'],
  [
    'headings',
    '# A\n## B\ntext\n\n### C\n\n#### D',
    '<h1 id="A">A</h1>\n<h2 id="B">B</h2>\n<p>text</p>\n<h3 id="C">C</h3>\n<h4>D</h4>',
  ],
  ['lists', '- a\n  b\n* **c**', '<ul><li>a\nb</li><li><strong>c</strong></li></ul>'],
  ['numbered lists', '1. a\n2. b', '<ol><li>a</li><li>b</li></ol>'],
  [
    'tables',
    '| a | `b` |\n| --- | :-: |\n| c \\| d | |',
    '<table><thead><tr><th>a</th><th><code>b</code></th></tr></thead><tbody>\n' +
      '<tr><td>c | d</td><td></td></tr></tbody></table>',
  ],
  ['code blocks', 'a\n```sh\nx <y>\n\n- z\n```\nb', '<p>a</p>\n<pre>x &lt;y&gt;\n\n- z</pre>\n<p>b</p>'],
  ['an open code block', '```\nx', '<pre>x</pre>'],
  ['code', '`a **b** <c>` `', '<p><code>a **b** &lt;c&gt;</code> `</p>'],
  ['code in bold', '**a `b` c** ** d', '<p><strong>a <code>b</code> c</strong> ** d</p>'],
  [
    'links',
    '[a `b`](https://a.example/?b=c&d) [c](openapi.yaml) [d](#e)',
    '<p><a href="https://a.example/?b=c&amp;d">a <code>b</code></a> <a href="openapi.yaml">c</a> <a href="#e">d</a></p>',
  ],
  ['no link that runs a script', '[a](javascript:alert`1`)', '<p>[a](javascript:alert`1`)</p>'],
  [
    'no link that escapes',
    '[a](https://b"onclick="c)',
    '<p><a href="https://b&quot;onclick=&quot;c">a</a></p>',
  ],
  ['no HTML', '<img src=x onerror=y> & "', '<p>&lt;img src=x onerror=y&gt; &amp; &quot;</p>'],
  ['the id of a heading', '### GET /a-{b}?"é\ud800', '<h3 id="GET-/a-{b}-é-">GET /a-{b}?&quot;é\ud800</h3>'],
  ['quotes', '> a\nb', '<blockquote>a\nb</blockquote>'],
  ['nothing', ' \n\n', ''],
]

for (const [name, markdown, html] of cases) t.test(name, async (t) => t.equal(markdownToHtml(markdown), html))

t.test('long texts take little time, whatever is in them', async (t) => {
  for (const part of ['`', '**', '**a`', '[', '[a](', '| a', '- ', '#', '```\n', 'a\n']) {
    const before = process.cpuUsage()
    markdownToHtml(part.repeat(300_000 / part.length))
    const { user } = process.cpuUsage(before)
    t.ok(user < 3_000_000, `${part} took ${user} µs`)
  }
})
