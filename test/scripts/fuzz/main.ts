// .ci/run fuzzes the service.

import t from 'tap'
import { runProgram } from '../../fixtures/process.js'

t.test('without Schemathesis the way to install it is printed', async (t) => {
  const ended = await runProgram('scripts/fuzz/main.ts', [], { PATH: '' })
  t.match(ended, {
    code: 1,
    stdout: '',
    stderr: /^Schemathesis is not installed\. Install it with `pip install -r /,
  })
})

t.test('zero requests are rejected with the usage', async (t) => {
  const ended = await runProgram('scripts/fuzz/main.ts', ['--max-examples', '0'], {})
  t.match(ended, { code: 2, stdout: '', stderr: /^Usage: [\s\S]*\n--max-examples must be a whole number/ })
})
