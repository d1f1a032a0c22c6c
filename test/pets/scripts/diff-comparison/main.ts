import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { contractDiff, readEdits } from '../../../../scripts/diff-comparison/comparison.js'
import { projectRoot } from '../../../../src/lib/paths.js'

t.test('each edit is classified correctly', async (t) => {
  for (const edit of await readEdits()) t.equal(await contractDiff(edit), edit.is, edit.what)
})

t.test('in the opposite direction, an equal contract is equal', async (t) => {
  for (const { what, is, before, after } of await readEdits()) {
    const back = await contractDiff({ what, is, before: after, after: before })
    if (is === 'equal' || is === 'text') t.equal(back, is, what)
    else t.notOk(['equal', 'text'].includes(back), what)
  }
})

t.test('without oasdiff, only contract:diff is counted', async (t) => {
  const args = ['--import', 'tsx', 'scripts/diff-comparison/main.ts']
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: projectRoot,
    env: { PATH: '' },
  })
  const edits = await readEdits()
  const breaking = edits.filter(({ is }) => is === 'breaking').length
  t.match(stdout, `contract:diff   ${breaking} of ${breaking}`)
  t.match(stdout, `0 of ${edits.length - breaking}\n`)
  t.match(stdout, 'oasdiff is not installed: skipped\n')
})
