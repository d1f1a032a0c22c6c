// What processes use, as Linux tells it in /proc. Elsewhere there is nothing to tell, and nothing is made up.

import { readdirSync, readFileSync } from 'node:fs'

// USER_HZ, which is 100 on every Linux that Node runs on.
const ticksPerSecond = 100
const bytesPerPage = 4096

interface Process {
  readonly pid: number
  readonly parent: number
  readonly ticks: number
  /** Of its children that have ended. */
  readonly endedTicks: number
}

/** Whether processor time can be told here. */
export const canMeasureProcesses: boolean = process.platform === 'linux'

/** The processor time that a process and its descendants have used, in seconds. */
export function cpuSeconds(root: number): number {
  if (!canMeasureProcesses) return Number.NaN
  const all = listProcesses()
  const tree = new Set([root])
  // A parent may be listed after its child, so this goes on until nothing is found.
  for (let size = 0; size !== tree.size; ) {
    size = tree.size
    for (const { pid, parent } of all) if (tree.has(parent)) tree.add(pid)
  }
  const members = all.filter(({ pid }) => tree.has(pid))
  return members.reduce((sum, { ticks, endedTicks }) => sum + ticks + endedTicks, 0) / ticksPerSecond
}

/** The memory that a process has in RAM, in bytes. */
export function residentBytes(pid: number): number {
  if (!canMeasureProcesses) return Number.NaN
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * bytesPerPage
}

/** The processes that a process has started, and that have not ended. */
export function childrenOf(pid: number): number[] {
  return listProcesses().flatMap((each) => (each.parent === pid ? [each.pid] : []))
}

/** The parent of a process. */
export function parentOf(pid: number): number | undefined {
  return canMeasureProcesses ? read(pid)?.parent : undefined
}

/** The first words of /proc about a process: its name. */
export function nameOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
}

function listProcesses(): Process[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map((pid) => read(Number(pid))).filter((each) => each !== undefined)
}

// proc(5): the name stands in parentheses and may hold anything, so the fields are counted from behind it.
function read(pid: number): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const field = (number: number) => Number(fields[number - 3])
    return { pid, parent: field(4), ticks: field(14) + field(15), endedTicks: field(16) + field(17) }
  } catch {
    return undefined // it has ended meanwhile
  }
}
