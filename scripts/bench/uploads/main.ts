// Measures the memory that uploads take: many at once, and some that stall.

import { parseArgs } from 'node:util'
import { print } from 'contract-engine/lib/terminal'
import { runProcess } from 'contract-service/internal/commands/command'
import { type Measured, measureStalled, measureUploads, startUploadServer } from './measure.js'

const usage = `Usage: npx tsx scripts/bench/uploads/main.ts [--count 100] [--bytes 100000000]

Sends uploads of so many bytes at once, each as a body, as the file of a form and as three, then lines of items,
ten times as many bytes, and 12 uploads that stall, to a service of its own; and tells how much more memory it used at most.

Exit codes: 0 done, 2 wrong usage.
`

function lineOf(title: string, { statuses, moreBytes, ms }: Measured): string {
  const found = [...new Set(statuses)].map(
    (each) => `${statuses.filter((one) => one === each).length} x ${each}`,
  )
  return `${title}: ${found.join(', ')}, ${Math.round(moreBytes / 1e6)} MB more memory, ${ms / 1000} s\n`
}

async function main(args: readonly string[]): Promise<number> {
  const options = {
    count: { type: 'string', default: '100' },
    bytes: { type: 'string', default: '100000000' },
  } as const
  const { values } = parseArgs({ args: [...args], options })
  const [count, bytes] = [Number(values.count), Number(values.bytes)]
  const server = await startUploadServer({ LOG_LEVEL: 'silent' })
  await measureUploads(server, { count: 4, bytes: 1_000_000 }) // lets V8 compile the code
  for (const [title, many, as] of [
    ['8 bodies', 8, 'body'],
    ['bodies', count, 'body'],
    ['forms', count, 'file'],
    ['forms of three files', count, 'files'],
  ] as const)
    await print(
      lineOf(`${title} of ${bytes / 1e6} MB`, await measureUploads(server, { count: many, bytes, as })),
    )
  const lines = { count: 1, bytes: 10 * bytes, as: 'lines' } as const
  await print(lineOf(`lines of ${lines.bytes / 1e6} MB`, await measureUploads(server, lines)))
  await print(lineOf('stalled', await measureStalled(server, bytes)))
  await server.stop()
  return 0
}

runProcess(usage, main)
