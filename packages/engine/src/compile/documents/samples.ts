// Writes samples of a request in languages whose samples by Scalar change the request or do not run: they
// drop the query, round an integer in the body, or import nothing. Here a body is the text of its JSON, so no
// language reads its numbers.

import type { ExampleRequest, Login } from './example-request.js'

/** An item of `x-codeSamples`. */
export interface Sample {
  readonly lang: string
  readonly label: string
  readonly source: string
}

/** Returns a sample for each language, given the URL of the server. */
export function samplesOf(request: ExampleRequest, server: string): Sample[] {
  const url = server + request.target
  return [
    ...(request.isStream ? [{ lang: 'shell', label: 'Curl', source: curl(request, url) }] : []),
    { lang: 'javascript', label: 'JavaScript Fetch', source: javascript(request, url) },
    { lang: 'python', label: 'Python Requests', source: python(request, url) },
    { lang: 'go', label: 'Go', source: go(request, url) },
    { lang: 'java', label: 'Java', source: java(request, url) },
  ]
}

// These languages escape in a string what JSON does, and in the same way.
const quoted = JSON.stringify

// HTTP Basic encodes this pair in base64.
function pairOf({ username, password }: Login): string {
  return quoted(`${username}:${password}`)
}

function block(start: string, lines: readonly string[], end: string): string {
  return lines.length === 0 ? '' : `${start}\n${lines.join('')}${end}\n`
}

// Scalar's own sample lacks -N, without which curl holds back what has arrived.
function curl({ method, headers, login, body }: ExampleRequest, url: string): string {
  const word = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
  const options = [
    ...(login ? [`--user ${word(`${login.username}:${login.password}`)}`] : []),
    ...headers.map(([name, value]) => `--header ${word(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-raw ${word(body)}`]),
  ]
  return [`curl -N --request ${method} ${word(url)}`, ...options].join(' \\\n  ').concat('\n')
}

function javascript(request: ExampleRequest, url: string): string {
  const { method, headers, login, body, isStream } = request
  const fields = headers.map(([name, value]) => `    ${quoted(name)}: ${quoted(value)},\n`)
  if (login) fields.unshift(`    "Authorization": "Basic " + btoa(${pairOf(login)}),\n`)
  const text = body?.replace(/[\\`]|\$(?=\{)/g, '\\$&')
  return `const response = await fetch(${quoted(url)}, {
  method: ${quoted(method)},
${block('  headers: {', fields, '  },')}${text === undefined ? '' : `  body: \`${text}\`,\n`}})
${isStream ? javascriptStream : 'console.log(response.status, await response.text())\n'}`
}

const javascriptStream = `console.log(response.status)
for await (const text of response.body.pipeThrough(new TextDecoderStream())) console.log(text)
`

function python(request: ExampleRequest, url: string): string {
  const { method, headers, login, body, isStream } = request
  const auth = login && `    auth=(${quoted(login.username)}, ${quoted(login.password)}),\n`
  const fields = headers.map(([name, value]) => `        ${quoted(name)}: ${quoted(value)},\n`)
  const text = body?.replace(/[\\']/g, '\\$&')
  const data = text === undefined ? '' : `    data='''${text}'''.encode(),\n`
  return `import requests

response = requests.request(
    ${quoted(method)},
    ${quoted(url)},
${auth ?? ''}${block('    headers={', fields, '    },')}${data}${isStream ? '    stream=True,\n' : ''})
${isStream ? pythonStream : 'print(response.status_code, response.text)\n'}`
}

// Without a charset, requests decodes text as ISO-8859-1.
const pythonStream = `print(response.status_code)
response.encoding = "utf-8"
for line in response.iter_lines(decode_unicode=True):
    print(line, flush=True)
`

function go({ method, headers, login, body, isStream }: ExampleRequest, url: string): string {
  const fields = headers.map(([name, value]) => `\trequest.Header.Set(${quoted(name)}, ${quoted(value)})\n`)
  if (login) fields.unshift(`\trequest.SetBasicAuth(${quoted(login.username)}, ${quoted(login.password)})\n`)
  const text = body?.includes('`') ? quoted(body) : `\`${body}\``
  const reader = body === undefined ? 'nil' : `strings.NewReader(${text})`
  return `package main

import (
${isStream ? '\t"bufio"\n' : ''}\t"fmt"
${isStream ? '' : '\t"io"\n'}\t"log"
\t"net/http"
${body === undefined ? '' : '\t"strings"\n'})

func main() {
\trequest, err := http.NewRequest(${quoted(method)}, ${quoted(url)}, ${reader})
\tif err != nil {
\t\tlog.Fatal(err)
\t}
${fields.join('')}\tresponse, err := http.DefaultClient.Do(request)
\tif err != nil {
\t\tlog.Fatal(err)
\t}
\tdefer response.Body.Close()
${isStream ? goStream : goWhole}}
`
}

const goWhole = `\ttext, err := io.ReadAll(response.Body)
\tif err != nil {
\t\tlog.Fatal(err)
\t}
\tfmt.Println(response.StatusCode, string(text))
`

// A line may be longer than the 64 kB that a scanner allows by default.
const goStream = `\tfmt.Println(response.StatusCode)
\tlines := bufio.NewScanner(response.Body)
\tlines.Buffer(nil, 16_000_000)
\tfor lines.Scan() {
\t\tfmt.Println(lines.Text())
\t}
\tif err := lines.Err(); err != nil {
\t\tlog.Fatal(err)
\t}
`

// A text block ends at three quotes, and loses the indentation that all its lines share: none here.
function java({ method, headers, login, body, isStream }: ExampleRequest, url: string): string {
  const fields = headers.map(([name, value]) => `\n      .header(${quoted(name)}, ${quoted(value)})`)
  if (login) {
    const encoded = `Base64.getEncoder().encodeToString(${pairOf(login)}.getBytes())`
    fields.unshift(`\n      .header("Authorization", "Basic " + ${encoded})`)
  }
  const text = body?.replaceAll('\\', '\\\\').replace(/"(?=""|$)/g, '\\"')
  const handler = isStream ? 'ofLines' : 'ofString'
  const publisher = text === undefined ? 'noBody()' : `ofString("""\n${text}""")`
  return `import java.net.URI;
import java.net.http.*;
${login ? 'import java.util.Base64;\n' : ''}
class Main {
  public static void main(String[] args) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(${quoted(url)}))${fields.join('')}
      .method(${quoted(method)}, HttpRequest.BodyPublishers.${publisher})
      .build();
    var response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.${handler}());
${isStream ? javaStream : '    System.out.println(response.statusCode() + " " + response.body());\n'}  }
}
`
}

const javaStream = `    System.out.println(response.statusCode());
    response.body().forEach(System.out::println);
`
