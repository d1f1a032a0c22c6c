// How many breaking edits contract:diff finds, and how often it cries wolf, beside oasdiff where that is installed.

import { parseArgs } from 'node:util'
import { type Kind, oasdiff, oasdiffVersion, own, readEdits, type Tool } from './comparison.js'

const { values } = parseArgs({ options: { all: { type: 'boolean' } } })
const version = await oasdiffVersion()
const tools: readonly (readonly [string, Tool])[] = [
  ['contract:diff', own],
  ...(version === undefined ? [] : ([['oasdiff', oasdiff]] as const)),
]
const edits = await readEdits()
const said = new Map<string, readonly (Kind | 'no answer')[]>()
for (const [name, tool] of tools) {
  const answers: (Kind | 'no answer')[] = []
  for (const edit of edits) answers.push(await tool(edit).catch(() => 'no answer' as const))
  said.set(name, answers)
}

const breaking = edits.filter(({ is }) => is === 'breaking').length
const rows = tools.map(([name]) => {
  const found = (is: boolean) =>
    edits.filter((edit, i) => (edit.is === 'breaking') === is && said.get(name)?.[i] === 'breaking').length
  return [name, `${found(true)} of ${breaking}`, `${found(false)} of ${edits.length - breaking}`]
})
const table = [['', 'breaking edits found', 'false alarms'], ...rows]
for (const [name = '', found = '', alarms = ''] of table) {
  process.stdout.write(`${name.padEnd(16)}${found.padEnd(22)}${alarms}\n`)
}
if (version === undefined) process.stdout.write('oasdiff is not installed: skipped\n')

edits.forEach(({ what, is }, i) => {
  const answers = tools.map(([name]) => `${name}: ${said.get(name)?.[i]}`)
  const isWrong = tools.some(([name]) => (said.get(name)?.[i] === 'breaking') !== (is === 'breaking'))
  if (values.all || isWrong) process.stdout.write(`\n${is}: ${what}\n  ${answers.join(', ')}`)
})
process.stdout.write('\n')
