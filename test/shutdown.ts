import t from 'tap'
import { runProgram } from './fixtures/process.js'

const cases: [title: string, steps: string[], told: string[]][] = [
  ['a signal asks for a stop', ['SIGTERM'], ['stop: Interrupted by SIGTERM.']],
  ['and the terminal that closes', ['SIGHUP'], ['stop: Interrupted by SIGHUP.']],
  [
    'one that comes twice at once is one, for npm passes on what the terminal sent',
    ['SIGINT', 'SIGINT'],
    ['stop: Interrupted by SIGINT.'],
  ],
  [
    'a second one later wants it at once, and a third changes nothing',
    ['SIGINT', 'later', 'SIGINT', 'later', 'SIGINT'],
    ['stop: Interrupted by SIGINT.', 'at once: Interrupted by SIGINT.'],
  ],
  [
    'and so does another signal',
    ['SIGINT', 'SIGTERM'],
    ['stop: Interrupted by SIGINT.', 'at once: Interrupted by SIGTERM.'],
  ],
  ['errors that nobody caught are the same', ['error', 'rejection'], ['stop: a fault', 'at once: a fault']],
]

for (const [title, steps, told] of cases) {
  t.test(title, async (t) => {
    const { stdout, stderr, code } = await runProgram('test/fixtures/shutdown-program.ts', steps, {})
    t.strictSame({ stdout: stdout.trim().split('\n'), stderr, code }, { stdout: told, stderr: '', code: 0 })
  })
}
