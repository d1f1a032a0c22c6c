// Samples of a request in languages of which Scalar's own change it, or do not run as they are: they drop the
// query, round an integer in the body, or import nothing. Here a body is the text of the JSON, which no
// language reads as numbers.

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
    { lang: 'javascript', label: 'JavaScript Fetch', source: javascript(request, url) },
    { lang: 'python', label: 'Python Requests', source: python(request, url) },
    { lang: 'go', label: 'Go', source: go(request, url) },
    { lang: 'java', label: 'Java', source: java(request, url) },
  ]
}

// What JSON escapes in a string, these languages do, in the same way.
const quoted = JSON.stringify

// What HTTP Basic encodes in base64.
function pairOf({ username, password }: Login): string {
  return quoted(`${username}:${password}`)
}

function block(start: string, lines: readonly string[], end: string): string {
  return lines.length === 0 ? '' : `${start}\n${lines.join('')}${end}\n`
}

function javascript({ method, headers, login, body }: ExampleRequest, url: string): string {
  const fields = headers.map(([name, value]) => `    ${quoted(name)}: ${quoted(value)},\n`)
  if (login) fields.unshift(`    "Authorization": "Basic " + btoa(${pairOf(login)}),\n`)
  const text = body?.replace(/[\\`]|\$(?=\{)/g, '\\$&')
  return `const response = await fetch(${quoted(url)}, {
  method: ${quoted(method)},
${block('  headers: {', fields, '  },')}${text === undefined ? '' : `  body: \`${text}\`,\n`}})
console.log(response.status, await response.text())
`
}

function python({ method, headers, login, body }: ExampleRequest, url: string): string {
  const auth = login && `    auth=(${quoted(login.username)}, ${quoted(login.password)}),\n`
  const fields = headers.map(([name, value]) => `        ${quoted(name)}: ${quoted(value)},\n`)
  const text = body?.replace(/[\\']/g, '\\$&')
  return `import requests

response = requests.request(
    ${quoted(method)},
    ${quoted(url)},
${auth ?? ''}${block('    headers={', fields, '    },')}${text === undefined ? '' : `    data='''${text}'''.encode(),\n`})
print(response.status_code, response.text)
`
}

function go({ method, headers, login, body }: ExampleRequest, url: string): string {
  const fields = headers.map(([name, value]) => `\trequest.Header.Set(${quoted(name)}, ${quoted(value)})\n`)
  if (login) fields.unshift(`\trequest.SetBasicAuth(${quoted(login.username)}, ${quoted(login.password)})\n`)
  const text = body?.includes('`') ? quoted(body) : `\`${body}\``
  const reader = body === undefined ? 'nil' : `strings.NewReader(${text})`
  return `package main

import (
\t"fmt"
\t"io"
\t"log"
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
\ttext, err := io.ReadAll(response.Body)
\tif err != nil {
\t\tlog.Fatal(err)
\t}
\tfmt.Println(response.StatusCode, string(text))
}
`
}

// A text block ends at three quotes, and drops the indentation that all lines have: none here.
function java({ method, headers, login, body }: ExampleRequest, url: string): string {
  const fields = headers.map(([name, value]) => `\n      .header(${quoted(name)}, ${quoted(value)})`)
  if (login) {
    const encoded = `Base64.getEncoder().encodeToString(${pairOf(login)}.getBytes())`
    fields.unshift(`\n      .header("Authorization", "Basic " + ${encoded})`)
  }
  const text = body?.replaceAll('\\', '\\\\').replace(/"(?=""|$)/g, '\\"')
  const publisher = text === undefined ? 'noBody()' : `ofString("""\n${text}""")`
  return `import java.net.URI;
import java.net.http.*;
${login ? 'import java.util.Base64;\n' : ''}
class Main {
  public static void main(String[] args) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(${quoted(url)}))${fields.join('')}
      .method(${quoted(method)}, HttpRequest.BodyPublishers.${publisher})
      .build();
    var response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    System.out.println(response.statusCode() + " " + response.body());
  }
}
`
}
