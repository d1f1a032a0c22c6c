// Counts the bytes and promises that requests of each load allocate, in the subjects that run on Node. Counts
// when they are warm, because optimized code allocates less; and apart from the rates, because counting takes
// time.

import { formatDecimal, table } from './report.js'
import { type Cell, defaultConnections, type Environment, generateServedLoad } from './runner.js'
import type { Allocated } from './subjects.js'

const countMs = 500

/** Returns a table of the subjects under their loads. */
export async function allocationsTable(environment: Environment, cells: readonly Cell[]): Promise<string> {
  const counted = cells.filter(({ subject }) => subject.count !== undefined)
  const loads = [...new Set(counted.map(({ load }) => load))]
  const subjects = [...new Set(counted.map(({ subject }) => subject))]
  environment.log('counting what requests allocate')
  const lines: string[][] = []
  for (const subject of subjects) {
    const line = [subject.title]
    for (const load of loads) {
      const cell = counted.find((each) => each.subject === subject && each.load === load)
      line.push(cell === undefined ? '-' : await allocatedBy(environment, cell))
    }
    lines.push(line)
  }
  return `${heading}\n\n${table(['kB, promises', ...loads.map(({ title }) => title)], lines)}`
}

async function allocatedBy(environment: Environment, cell: Cell): Promise<string> {
  const bytes = await perRequest(environment, cell, 'bytes')
  const promises = await perRequest(environment, cell, 'promises')
  return `${formatDecimal(bytes / 1000, 1)}, ${formatDecimal(promises, 1)}`
}

const heading = `### What a request allocates

On V8's heap, once warm, in the subjects of Node.`

async function perRequest(
  { interruption }: Environment,
  { subject: { name, port, count }, load, nextRequest }: Cell,
  what: Allocated,
): Promise<number> {
  let requests = 0
  const job = { port, nextRequest, connections: defaultConnections, durationMs: countMs, interruption }
  const allocated = await count?.(what, async () => {
    requests = (await generateServedLoad(job, `${name}, ${load.name}`)).total
  })
  return (allocated ?? Number.NaN) / requests
}
