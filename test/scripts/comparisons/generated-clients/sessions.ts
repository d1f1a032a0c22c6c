// Those sessions of scripts/comparisons/generated-clients that need nothing but npm, pip or Go, for real; the
// one of merge patches also runs the clients of other tools that are installed.

import { runProgram } from 'contract-service/fixtures/process'
import t from 'tap'

const unreachable =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|No matching distribution|dial tcp)\b/

// What each does, and what it prints.
const sessions: readonly (readonly [string, string, readonly RegExp[]])[] = [
  [
    'openapi-mcp-generator',
    'the tools page through 50 animals, and create each once',
    [/^ {2}create 50 once$/m, /^ {2}all pages$/m, /^ {2}create and read 9223372036854775807$/m, /^ {2}429$/m],
  ],
  [
    'fastmcp',
    'the tools are exact with nothing beside them, and a model is told that it calls too often',
    [/^ {2}create 9223372036854775807$/m, /^ {2}all pages$/m, /^ {2}unknown$/m, /^ {2}Rate limited/m],
  ],
  [
    'streams-npm',
    'hey-api and orval read streams as the page says',
    [/^ {2}sseMaxRetryAttempts ends that$/m],
  ],
  ['streams-go', 'oapi-codegen and ogen read streams as the page says', [/^ {2}ogen returns a refusal$/m]],
  [
    'merge-patch',
    'clients send a merge patch as the page says',
    [/^ {2}\| ogen /m, /^ {2}\| openapi-python-client /m, /^ {2}\| orval /m],
  ],
  ['helpers-npm', 'helpers and caches of npm do what the page says', [/^ {2}\| got /m, /^ {2}\| undici /m]],
  [
    'helpers-python',
    'helpers and caches of pip do what the page says',
    [/^ {2}\| urllib3 /m, /^ {2}\| hishel /m],
  ],
  ['helpers-go', 'a helper of Go does what the page says', [/^ {2}\| go-retryablehttp /m]],
]

for (const [name, title, shown] of sessions)
  t.test(title, async (t) => {
    const environment = { PATH: process.env.PATH ?? '', npm_config_fetch_retries: '0' }
    const args = ['--only', name, '--verbose']
    const { code, stdout } = await runProgram(
      'scripts/comparisons/generated-clients/main.ts',
      args,
      environment,
    )
    if (/: (skipped|failed: \S*(npm|pip|go)): /.test(stdout) && (code === 0 || unreachable.test(stdout))) {
      t.pass(stdout, { skip: 'it cannot be installed' })
      return
    }
    t.equal(code, 0, stdout)
    for (const line of shown) t.match(stdout, line)
  })
