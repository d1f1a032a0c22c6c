import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { nodeCommand } from 'contract-service/fixtures/node'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t from 'tap'
import { contractDiff, readEdits } from '../../../scripts/comparisons/diff/comparison.js'

t.test('each edit is classified correctly', async (t) => {
  for (const edit of await readEdits()) t.equal(await contractDiff(edit), edit.is, edit.what)
})

t.test('in the opposite direction, an equal contract is equal', async (t) => {
  for (const { what, is, before, after } of await readEdits()) {
    const back = await contractDiff({ before: after, after: before })
    if (is === 'equal' || is === 'text') t.equal(back, is, what)
    else t.notOk(['equal', 'text'].includes(back), what)
  }
})

t.test('without other tools, only contract-diff is counted', async (t) => {
  // Only a few edits, because the test above classifies all of them.
  const only = 'header'
  const args = ['dist/scripts/comparisons/diff/main.js', '--only', only]
  const { stdout } = await promisify(execFile)(...nodeCommand(args), {
    cwd: projectRoot,
    env: { PATH: '' },
  })
  const edits = (await readEdits()).filter(({ what }) => what.includes(only))
  const breaking = edits.filter(({ is }) => is === 'breaking').length
  t.ok(breaking > 0 && breaking < edits.length)
  t.match(stdout, `contract-diff   ${breaking} of ${breaking}`)
  t.match(stdout, `0 of ${edits.length - breaking}\n`)
  t.match(stdout, 'oasdiff is skipped: no oasdiff in PATH\nopenapi-diff is skipped: no mvn in PATH\n')
})
