// CPU time, memory and children of processes, from Linux's /proc. On other systems the figures are NaN.

import { readdirSync, readFileSync } from 'node:fs'

// USER_HZ, which is 100 on every Linux that Node runs on.
const ticksPerSecond = 100
const bytesPerPage = 4096

interface Process {
  readonly pid: number
  readonly parent: number
  readonly ticks: number
  /** Of exited children. */
  readonly endedTicks: number
}

/** Whether the system has /proc. */
export const canMeasureProcesses: boolean = process.platform === 'linux'

/** The CPU time of a process and its descendants, in seconds. */
export function cpuSeconds(root: number): number {
  if (!canMeasureProcesses) return Number.NaN
  const all = listProcesses()
  const tree = new Set([root])
  // A parent may be listed after its child: repeat until no process is added.
  for (let size = 0; size !== tree.size; ) {
    size = tree.size
    for (const { pid, parent } of all) if (tree.has(parent)) tree.add(pid)
  }
  const members = all.filter(({ pid }) => tree.has(pid))
  return members.reduce((sum, { ticks, endedTicks }) => sum + ticks + endedTicks, 0) / ticksPerSecond
}

/**
 * The CPU time of the main thread of a process, in seconds, without those of V8 or libuv beside it. As the
 * scheduler counts it (proc(5), `schedstat`): the ticks of `stat` are too coarse for a quarter of a second.
 */
export function mainThreadSeconds(pid: number): number {
  if (!canMeasureProcesses) return Number.NaN
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e9
}

/** The resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  if (!canMeasureProcesses) return Number.NaN
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * bytesPerPage
}

/** The most resident memory that a process has had, in bytes. */
export function peakResidentBytes(pid: number): number {
  if (!canMeasureProcesses) return Number.NaN
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
}

/** The parent of a process. */
export function parentOf(pid: number): number | undefined {
  return canMeasureProcesses ? read(pid)?.parent : undefined
}

/** The name of a process. */
export function nameOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
}

function listProcesses(): Process[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map((pid) => read(Number(pid))).filter((each) => each !== undefined)
}

// proc(5): the name in parentheses may contain anything, so the fields are counted after it.
function read(pid: number): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const field = (number: number) => Number(fields[number - 3])
    return { pid, parent: field(4), ticks: field(14) + field(15), endedTicks: field(16) + field(17) }
  } catch {
    return undefined // the process has exited
  }
}
