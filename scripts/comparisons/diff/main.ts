// Compares contract:diff with oasdiff, if installed: the breaking edits each finds, and its false alarms.
// With `--all` it lists each edit, with `--only TEXT` it has those whose description contains the text.

import { parseArgs } from 'node:util'
import { contractDiff, isOasdiffInstalled, type Kind, oasdiff, readEdits, type Tool } from './comparison.js'

const { values } = parseArgs({
  options: { all: { type: 'boolean' }, only: { type: 'string', default: '' } },
})
const hasOasdiff = await isOasdiffInstalled()
const tools: readonly (readonly [string, Tool])[] = [
  ['contract:diff', contractDiff],
  ...(hasOasdiff ? ([['oasdiff', oasdiff]] as const) : []),
]
const edits = (await readEdits()).filter(({ what }) => what.includes(values.only))
const results = new Map<string, readonly (Kind | 'failed')[]>()
for (const [name, tool] of tools) {
  const kinds: (Kind | 'failed')[] = []
  for (const edit of edits) kinds.push(await tool(edit).catch(() => 'failed' as const))
  results.set(name, kinds)
}

const breaking = edits.filter(({ is }) => is === 'breaking').length
const rows = tools.map(([name]) => {
  const found = (is: boolean) =>
    edits.filter((edit, i) => (edit.is === 'breaking') === is && results.get(name)?.[i] === 'breaking').length
  return [name, `${found(true)} of ${breaking}`, `${found(false)} of ${edits.length - breaking}`]
})
const table = [['', 'breaking edits found', 'false alarms'], ...rows]
for (const [name = '', found = '', alarms = ''] of table) {
  process.stdout.write(`${name.padEnd(16)}${found.padEnd(22)}${alarms}\n`)
}
if (!hasOasdiff) process.stdout.write('oasdiff is not installed: skipped\n')

edits.forEach(({ what, is }, i) => {
  const kinds = tools.map(([name]) => `${name}: ${results.get(name)?.[i]}`)
  const isWrong = tools.some(([name]) => (results.get(name)?.[i] === 'breaking') !== (is === 'breaking'))
  if (values.all || isWrong) process.stdout.write(`\n${is}: ${what}\n  ${kinds.join(', ')}`)
})
process.stdout.write('\n')
