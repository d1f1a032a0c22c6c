// Compares contract-diff with other installed tools: the breaking edits that each finds, and its false
// alarms. With `--all`, lists each edit; with `--only TEXT`, takes only edits whose description contains the
// text.

import { parseArgs } from 'node:util'
import {
  contractDiff,
  type Edit,
  folderOf,
  inFolders,
  isInstalled,
  oasdiff,
  openapiDiff,
  readEdits,
  type Verdict,
} from './comparison.js'

const { values } = parseArgs({
  options: { all: { type: 'boolean' }, only: { type: 'string', default: '' } },
})
// Without edits of our extensions, which no other tool knows; test/scripts/comparisons/diff.ts tests them.
const edits = (await readEdits()).filter(({ what, ours }) => !ours && what.includes(values.only))

const others: readonly (readonly [name: string, needs: string, judge: typeof openapiDiff])[] = [
  ['oasdiff', 'oasdiff', judgeEachByOasdiff],
  ['openapi-diff', 'mvn', openapiDiff],
]

const results = new Map<string, readonly Verdict[]>([['contract-diff', await judgeAll()]])
await inFolders(edits, async (folders) => {
  for (const [name, program, judge] of others) {
    if (await isInstalled(program)) results.set(name, await judge(folders))
    else process.stdout.write(`${name} is skipped: no ${program} in PATH\n`)
  }
})

const breaking = edits.filter(({ is }) => is === 'breaking').length
printRow('', 'breaking edits found', 'false alarms')
for (const [name, verdicts] of results) {
  const reported = edits.filter((_, i) => verdicts[i] === 'breaking')
  const found = reported.filter(({ is }) => is === 'breaking').length
  const alarms = reported.length - found
  printRow(name, `${found} of ${breaking}`, `${alarms} of ${edits.length - breaking}`)
}
edits.forEach(printIfAsked)
process.stdout.write('\n')

async function judgeAll(): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  for (const edit of edits) verdicts.push(await contractDiff(edit))
  return verdicts
}

async function judgeEachByOasdiff(folders: string): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  for (const i of edits.keys()) verdicts.push(await oasdiff(folderOf(folders, i)).catch(() => 'failed'))
  return verdicts
}

function printRow(name: string, found: string, alarms: string): void {
  process.stdout.write(`${name.padEnd(16)}${found.padEnd(22)}${alarms}\n`)
}

// Prints an edit with each tool's verdict, if one was wrong or `--all` is given.
function printIfAsked({ what, is }: Edit, index: number): void {
  const verdicts = [...results].map(([name, all]) => [name, all[index]] as const)
  const isWrong = verdicts.some(([, verdict]) => (verdict === 'breaking') !== (is === 'breaking'))
  if (!values.all && !isWrong) return
  const texts = verdicts.map(([name, verdict]) => `${name}: ${verdict}`)
  process.stdout.write(`\n${is}: ${what}\n  ${texts.join(', ')}`)
}
