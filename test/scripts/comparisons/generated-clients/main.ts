// The runner of the sessions, with a fake tool in PATH. `npm run generated-clients` runs the real ones.

import { chmodSync, existsSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { runProgram, temporaryDirectory } from 'contract-service/fixtures/process'
import t, { type Test } from 'tap'
import { generators } from '../../../../scripts/comparisons/generated-clients/generators.js'

// Runs the command with a fake `cargo` and without the tools of other generators.
async function runWith(t: Test, cargo: string, ...args: string[]) {
  const tools = temporaryDirectory(t, { cargo: `#!/bin/sh\n${cargo}\n` })
  chmodSync(path.join(tools, 'cargo'), 0o755)
  for (const tool of ['sh', 'curl', 'sed']) symlinkSync(toolOf(tool), path.join(tools, tool))
  return runProgram('scripts/comparisons/generated-clients/main.ts', args, { PATH: tools })
}

function toolOf(name: string): string {
  return path.join(['/usr/bin', '/bin'].find((folder) => existsSync(path.join(folder, name))) ?? '', name)
}

t.test('a session that fails fails the run, which prints its output', async (t) => {
  const { code, stdout } = await runWith(t, 'echo "no next page at $URL" >&2; exit 1')
  t.equal(code, 1)
  t.match(stdout, /^progenitor: failed: cargo: no next page at http:\/\/127\.0\.0\.1:\d+\/v1$/m)
  for (const { name } of generators)
    if (name !== 'progenitor') t.match(`\n${stdout}`, `\n${name}: skipped: no `)
})

t.test('a session has the contract, two keys, and a future version of the service', async (t) => {
  const session = `read -r line < openapi-3.0.yaml; echo "$line"
for key in $KEY $FREE_KEY; do curl -fsS -H "Authorization: Bearer $key" "$URL/pets"; echo; done
curl -fsS "$FUTURE_URL/pets"`
  const { code, stdout } = await runWith(t, session, '--only', 'progenitor', '--verbose')
  t.equal(code, 0, stdout)
  t.match(
    stdout,
    /^progenitor: works\n {2}openapi: 3\.0\.\d\n {2}\[\]\n {2}\[\]\n {2}\[\{"id":1,.*"reserved"/,
  )
})
