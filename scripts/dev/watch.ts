// The edits to the project's files, a burst at a time. chokidar watches folders, not inodes, so that an editor that
// writes by renaming is seen, and one that writes twice is heard once. Node's own recursive fs.watch misses files of
// folders made while it looks at them, on Linux in Node 20.

import { once } from 'node:events'
import path from 'node:path'
import { watch } from 'chokidar'
import { isContractFile } from './contract-files.js'

// After the last event of a burst: a checkout writes many files, an editor some at a time.
const quietMs = 60
// generated/ is not among them: what is written there follows from the contract.
const folders = ['openapi', 'src', 'scripts', 'test']

/** Watches the project; each step of the iteration is a burst of edits, as paths relative to the root. */
export async function watchProject(root: string): Promise<AsyncIterable<ReadonlySet<string>>> {
  const watcher = watch(root, {
    ignoreInitial: true,
    ignored: (file, stats) => !isWatched(path.relative(root, file), stats?.isFile() ?? false),
  })
  const edits = new Set<string>()
  let wake = () => {}
  let timer: NodeJS.Timeout | undefined
  watcher.on('all', (event, file) => {
    if (event.endsWith('Dir')) return
    edits.add(path.relative(root, file).replaceAll(path.sep, '/'))
    clearTimeout(timer)
    timer = setTimeout(() => wake(), quietMs)
  })
  await once(watcher, 'ready')
  return bursts(
    edits,
    () =>
      new Promise<void>((resolve) => {
        wake = resolve
      }),
  )
}

// Edits during a step are there for the next.
async function* bursts(edits: Set<string>, quiet: () => Promise<void>): AsyncGenerator<ReadonlySet<string>> {
  for (;;) {
    if (edits.size === 0) await quiet()
    const burst = new Set(edits)
    edits.clear()
    yield burst
  }
}

function isWatched(file: string, isFile: boolean): boolean {
  const [top = ''] = file.split(path.sep)
  if (file === '') return true
  if (path.basename(file).startsWith('.')) return false // an editor's own
  if (top === file && !folders.includes(top)) return isContractFile(file) || /^tsconfig.*\.json$/.test(file)
  return folders.includes(top) && (!isFile || /\.(ts|sql|yaml|json)$/.test(file))
}
