// What generated clients send of a merge patch whose note is null and whose name is left out. Runs those
// whose tools are in PATH, and prints the row of each in the table of ../README.md, which is the
// program's argument. Exits with 1 if a client fails, or if the page has another row.

import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { promisify } from 'node:util'

const page = readFileSync(process.argv[2], 'utf8')

// The generators of Go read 3.0.
const written = readFileSync('patch.yaml', 'utf8')
const in30 = written.replace('3.1.0', '3.0.3').replaceAll("[string, 'null']", 'string, nullable: true')
writeFileSync('patch-3.0.yaml', in30)

const withJava = (generator, more = '') =>
  `venv/bin/openapi-generator-cli generate -i patch.yaml -g ${generator} -o ${generator} ${more} \
--global-property apiTests=false,modelTests=false,apiDocs=false,modelDocs=false`
const withPip = (folder, program) => [
  `venv/bin/pip install --quiet ./${folder}`,
  `venv/bin/python ${program}`,
]
const withGo = (folder) => ['go mod tidy', `go run ./run/${folder}`]
const withMaven = 'mvn --batch-mode --quiet compile dependency:build-classpath -Dmdep.outputFile=classpath'

/** The name in the table, how the client is told of null, the programs it needs, and its commands. */
const clients = [
  [
    'openapi-generator, `python`',
    '`ItemPatch(note=None)`',
    ['java'],
    [withJava('python'), ...withPip('python', 'openapi_generator.py')],
  ],
  [
    'openapi-generator, `typescript-fetch`',
    '`note: null`',
    ['java'],
    [withJava('typescript-fetch'), 'npx tsx npm.ts typescript-fetch'],
  ],
  [
    'openapi-generator, `go`',
    '`SetNoteNil()`',
    ['java', 'go'],
    [withJava('go', '-p withGoMod=false,packageName=generated'), ...withGo('openapi-generator')],
  ],
  [
    'openapi-generator, `java` with `native`',
    '`note(null)`',
    ['java', 'javac', 'mvn'],
    [
      withJava('java', '--library native'),
      `cp Patch.java java/src/main/java && cd java && ${withMaven}`,
      'cd java && java -cp "target/classes:$(cat classpath)" Patch',
    ],
  ],
  ['openapi-generator, `ruby`', '`note: nil`', ['java', 'ruby'], [withJava('ruby'), 'ruby patch.rb']],
  ['openapi-generator, `php`', "`['note' => null]`", ['java', 'php'], [withJava('php'), 'php patch.php']],
  ['openapi-generator, `rust`', '`Some(None)`', ['java', 'cargo'], [withJava('rust'), 'cargo run --quiet']],
  [
    'oapi-codegen',
    'it cannot be',
    ['go'],
    [
      `mkdir oapi && go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 \
-generate types,client -package oapi -o oapi/client.go patch-3.0.yaml`,
      ...withGo('oapi-codegen'),
    ],
  ],
  [
    'oapi-codegen, `nullable-type`',
    '`nullable.NewNullNullable`',
    ['go'],
    [
      `go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 \
-config nullable.yml patch-3.0.yaml`,
      ...withGo('nullable'),
    ],
  ],
  [
    'ogen',
    '`Note.SetToNull()`',
    ['go'],
    [
      'go run github.com/ogen-go/ogen/cmd/ogen@v1.24.0 --target ogen --package ogen patch-3.0.yaml',
      'go get github.com/ogen-go/ogen@v1.24.0',
      ...withGo('ogen'),
    ],
  ],
  [
    'openapi-python-client',
    '`ItemPatch(note=None)`',
    [],
    [
      'venv/bin/openapi-python-client generate --path patch.yaml --output-path client --meta setup',
      ...withPip('client', 'openapi_python_client.py'),
    ],
  ],
  [
    'openapi-fetch',
    '`note: null`',
    [],
    ['npx openapi-typescript patch.yaml -o openapi-fetch.d.ts', 'npx tsx npm.ts openapi-fetch'],
  ],
  [
    'openapi-fetch, with the header',
    '`note: null`',
    [],
    ['npx tsx npm.ts openapi-fetch application/merge-patch+json'],
  ],
  [
    'hey-api',
    '`note: null`',
    [],
    [
      'npx openapi-ts -i patch.yaml -o hey-api -p @hey-api/client-fetch @hey-api/sdk',
      'npx tsx npm.ts hey-api',
    ],
  ],
  [
    'orval',
    '`note: null`',
    [],
    ['npx orval --input patch.yaml --output orval.ts --client fetch', 'npx tsx npm.ts orval'],
  ],
]

const typeNames = { 'application/merge-patch+json': 'merge patch', 'application/json': 'JSON' }
let received = []
const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const type = request.headers['content-type']?.replace(/;.*/, '')
  received.push({ type: typeNames[type] ?? type, body: JSON.stringify(JSON.parse(body)) })
  response.setHeader('content-type', 'application/json').end('{"id":1,"name":"a"}')
}).listen(0, '127.0.0.1')
await once(server, 'listening')
const env = { ...process.env, URL: `http://127.0.0.1:${server.address().port}` }

for (const [name, words, programs, commands] of clients) {
  const absent = programs.filter((each) => spawnSync(each, ['--help']).error)
  if (absent.length > 0) console.log(`${name} is skipped: no ${absent.join(', ')} in PATH`)
  else await check(name, words, commands)
}
server.close()

async function check(name, words, commands) {
  received = []
  for (const command of commands) await promisify(execFile)('sh', ['-c', command], { env })
  const bodies = new Set(received.map(({ body }) => `\`${body}\``))
  const types = [0, 1].map((i) => received[i]?.type ?? 'nothing')
  const row = `| ${[name, words, ...types, ...bodies].join(' | ')} |`
  console.log(row)
  if (page.includes(`${row}\n`)) return
  console.error('is not a row of the page')
  process.exit(1)
}
