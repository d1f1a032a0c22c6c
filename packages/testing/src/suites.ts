// Assigns test files to processes. A process takes half a second of CPU before its first test, so it runs
// many files: one after the other, because they share its globals.

import './valid-specifications.js'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { isNightly } from './nightly.js'
import { collectWarnings } from './warnings.js'

// The limit in seconds of CPU for a process and its children: three times what the longest suite takes on two
// busy cores of a server, because machines differ by as much. Tests that take more go to `slow/`, or run a
// tenth of their rounds by day (nightly.ts).
const cpuMax = 300
const slowCpuMax = 700

/** Folders and files of tests, by the suite that runs them. The most specific entry decides for a file. */
export type Places = Readonly<Record<string, readonly string[]>>

/** The suites of a folder of tests. */
export interface Suites {
  readonly names: readonly string[]
  /** The test files, such as `config.ts`. */
  files(): string[]
  /** The suite that runs a test file. */
  suiteOf(file: string): string | undefined
  /** Runs the files of some suites in this process. */
  run(...names: readonly string[]): Promise<void>
}

/**
 * Returns the suites of a folder of tests.
 * @param source the folder of the sources
 * @param built the folder of the programs: the sources, run by tsx, or the compiled files
 * @param placeOf the place of a file, as in `places`; default: its path
 */
export function suitesIn(
  { source, built }: { readonly source: string; readonly built: string },
  places: Places,
  placeOf: (file: string) => string = (file) => file,
): Suites {
  const files = () => {
    const names = readdirSync(source, { recursive: true, encoding: 'utf8' })
    return names.filter((name) => /^(?!([^/]+\/)?fixtures\/).*\.ts$/.test(name)).sort()
  }
  const suiteOf = (file: string) => {
    const place = placeOf(file).replace(/\.ts$/, '/')
    const found = Object.entries(places).flatMap(([suite, named]) =>
      named
        .filter((each) => each === '' || place.startsWith(`${each}/`))
        .map((each) => ({ suite, exactness: each.length })),
    )
    return found.sort((a, b) => b.exactness - a.exactness)[0]?.suite
  }
  const run = (...names: readonly string[]) =>
    runFiles(
      built,
      files().filter((file) => names.includes(suiteOf(file) ?? '')),
      isNightly ? Number.POSITIVE_INFINITY : names.some((name) => name.includes('/')) ? slowCpuMax : cpuMax,
    )
  return { names: Object.keys(places), files, suiteOf, run }
}

async function runFiles(built: string, files: readonly string[], cpuMax: number): Promise<void> {
  const before = globalsNow()
  const warnings = collectWarnings()
  const spent = cpuCounter()
  // Each import is a test: otherwise tap may end a process whose tests are all done while the next file is
  // being imported. The tests of a file run after it, and before the import of the next file.
  for (const file of files)
    await t.test(`${file} begins`, async (t) => {
      spent.begin(file)
      const { dir, name } = path.parse(file)
      const program = path.join(built, dir, name + path.extname(import.meta.filename))
      await import(pathToFileURL(program).href)
      t.pass()
    })
  await t.test('the tests restored the globals that they replaced', async (t) => {
    const after = globalsNow()
    const changed = Object.keys({ ...before, ...after }).filter((name) => after[name] !== before[name])
    t.strictSame(changed, [])
  })
  await t.test('the tests printed no warning of Node', async (t) => {
    await new Promise(setImmediate) // Node reports a warning in a later turn
    t.strictSame(warnings, [])
  })
  t.comment(spent.report())
  t.ok(cpuSeconds() <= cpuMax, `at most ${cpuMax} s of CPU`)
}

// Measures the CPU time of each file: its tests run until the next file begins.
function cpuCounter() {
  const marks: { readonly file: string; readonly at: number }[] = []
  const report = () => {
    const end = cpuSeconds()
    const costs = marks.map(({ file, at }, i) => ({ file, seconds: (marks[i + 1]?.at ?? end) - at }))
    const most = costs.sort((a, b) => b.seconds - a.seconds).slice(0, 5)
    const told = most.map(({ file, seconds }) => `${file} ${seconds.toFixed(1)}`)
    return `CPU: ${Math.round(end)} s, most of ${told.join(', ')}`
  }
  return { begin: (file: string) => void marks.push({ file, at: cpuSeconds() }), report }
}

// CPU time of this process and, on Linux, of the children that it has waited for: proc_pid_stat(5).
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  const stat = process.platform === 'linux' ? readFileSync('/proc/self/stat', 'utf8') : ''
  const [cutime = 0, cstime = 0] = stat.split(') ')[1]?.split(' ').slice(13, 15).map(Number) ?? []
  return (user + system) / 1e6 + (cutime + cstime) / 100 // clock ticks of 10 ms
}

function globalsNow(): Record<string, unknown> {
  const { fetch, setTimeout, setInterval, setImmediate } = globalThis
  const clocks = { 'Date.now': Date.now, 'performance.now': performance.now, Date }
  const { write } = process.stdout
  return {
    ...process.env,
    ...clocks,
    ...{ fetch, setTimeout, setInterval, setImmediate },
    write,
    dir: process.cwd(),
  }
}
