import { runProgram } from 'contract-service/fixtures/process'
import t from 'tap'

const usage = /^Usage: [\s\S]*\nExamples:\n {2}[\s\S]*\nExit codes: 0 /

t.test('a tool rejects unknown options with its usage before anything is done', async (t) => {
  const service = ['packages/service/contract-service.js']
  for (const [name = '', program = '', ...args] of [
    ...['create', 'generate', 'dev', 'fuzz', 'upgrade'].map((name) => [name, ...service, name]),
    ...['faults', 'bench'].map((name) => [name, `scripts/${name}/main.ts`]),
  ]) {
    const ended = await runProgram(program, [...args, '--nonsense'], {})
    t.match(ended, { code: 2, stdout: '', stderr: usage }, name)
    t.match(ended.stderr, /\n\n.*--nonsense.*\n$/, 'with the message at the end')
    t.notMatch(ended.stderr, /\n +at /, 'without a stack')
  }
})
