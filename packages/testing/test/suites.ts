import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { temporaryDirectory } from '../src/directory.js'

const [suites, warnings] = ['suites', 'warnings'].map((name) =>
  import.meta.resolve(`contract-testing/${name}`),
)

// Runs a suite with one test file in a separate process, which fails if a test fails.
async function run(t: Test, program: string): Promise<{ failed: boolean; stdout: string }> {
  const files = { 'package.json': '{"type":"module"}', 'file.ts': program, 'file.js': program }
  const folder = temporaryDirectory(t, files)
  const places = JSON.stringify({ source: folder, built: folder })
  const call = `(await import('${suites}')).suitesIn(${places}, { all: [''] }).run('all')`
  const options = { cwd: import.meta.dirname, env: { PATH: process.env.PATH } }
  return promisify(execFile)(process.execPath, ['--input-type=module', '--eval', call], options).then(
    ({ stdout }) => ({ failed: false, stdout }),
    ({ stdout }) => ({ failed: true, stdout }),
  )
}

const listeners = (count: number) =>
  `import { EventEmitter } from 'node:events'
   const emitter = new EventEmitter()
   for (let i = 0; i < ${count}; i++) emitter.on('gone', () => {})`

const repeated = (line: string) =>
  `import { repeatWarnings } from '${warnings}'
   repeatWarnings('a line\\n(node:1) ${line}\\n')`

const cases: [title: string, program: string, shown: RegExp | undefined][] = [
  ['no warning', listeners(10), undefined],
  ['a warning, whose stack is shown', listeners(11), /MaxListenersExceededWarning: .*\n.* at .*file\./s],
  ['an experimental part of Node', "process.emitWarning('it', 'ExperimentalWarning')", undefined],
  ['a deprecated call', "process.emitWarning('it', 'DeprecationWarning', 'DEP1')", /DeprecationWarning: it/],
  ['a warning of a child process', repeated('Warning: it leaks'), /Warning: it leaks/],
  ['a code of a child process', repeated('[DEP1] DeprecationWarning: it'), /DeprecationWarning: it/],
  ['an experimental part in a child process', repeated('ExperimentalWarning: it'), undefined],
]

for (const [title, program, shown] of cases)
  t.test(`a suite with ${title} ${shown === undefined ? 'passes' : 'fails'}`, async (t) => {
    const { failed, stdout } = await run(t, program)
    t.equal(failed, shown !== undefined)
    if (shown !== undefined) t.match(stdout, shown)
  })
