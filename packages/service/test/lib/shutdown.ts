import t from 'tap'
import { runProgram } from '../fixtures/process.js'
import { fixtureProgram } from '../fixtures/root.js'

const cases: [title: string, steps: string[], output: string[]][] = [
  ['a signal requests a shutdown', ['SIGTERM'], ['requested: Interrupted by SIGTERM.']],
  ['a closed terminal requests a shutdown', ['SIGHUP'], ['requested: Interrupted by SIGHUP.']],
  [
    'a signal repeated at once counts once, because npm forwards what the terminal sent',
    ['SIGINT', 'SIGINT'],
    ['requested: Interrupted by SIGINT.'],
  ],
  [
    'a second signal later forces it, and a third has no effect',
    ['SIGINT', 'later', 'SIGINT', 'later', 'SIGINT'],
    ['requested: Interrupted by SIGINT.', 'forced: Interrupted by SIGINT.'],
  ],
  [
    'another signal forces it',
    ['SIGINT', 'SIGTERM'],
    ['requested: Interrupted by SIGINT.', 'forced: Interrupted by SIGTERM.'],
  ],
  ['uncaught errors do the same', ['error', 'rejection'], ['requested: a fault', 'forced: a fault']],
]

for (const [title, steps, output] of cases) {
  t.test(title, async (t) => {
    const { stdout, stderr, code } = await runProgram(fixtureProgram('shutdown-program'), steps, {})
    t.strictSame({ stdout: stdout.trim().split('\n'), stderr, code }, { stdout: output, stderr: '', code: 0 })
  })
}
