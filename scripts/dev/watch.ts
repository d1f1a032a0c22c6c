// The edits to the project's files, a burst at a time. chokidar watches folders, not inodes, so that an editor that
// writes by renaming is seen, and one that writes twice is heard once. Node's own recursive fs.watch misses files of
// folders made while it looks at them, on Linux in Node 20.

import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { watch } from 'chokidar'

// After the last event of a burst: a checkout writes many files, an editor some at a time.
const quietMs = 60
// generated/ is not among them: what is written there follows from the contract.
const folders = ['openapi', 'src', 'scripts', 'test']

/** Watches the project. Each step is a burst of edits, as paths relative to the root; the first is empty: it watches. */
export async function* watchProject(root: string): AsyncGenerator<readonly string[]> {
  const edits = new Set<string>()
  let lastMs = 0
  const watcher = watch(root, {
    ignoreInitial: true,
    ignored: (file, stats) => !isWatched(path.relative(root, file), stats?.isFile() ?? false),
  })
  watcher.on('all', (event, file) => {
    if (event.endsWith('Dir')) return
    edits.add(path.relative(root, file).replaceAll(path.sep, '/'))
    lastMs = performance.now()
  })
  await once(watcher, 'ready')
  for (;;) {
    const burst = [...edits].sort()
    edits.clear() // before the step: an edit during it is for the next
    yield burst
    while (edits.size === 0) await once(watcher, 'all')
    while (performance.now() - lastMs < quietMs) await delay(quietMs)
  }
}

/** Whether a file, by its path relative to the root, may be a part of the contract. */
export function isContractFile(file: string): boolean {
  if (file.startsWith('openapi/')) return true
  return /^[^/]+\.(yaml|json)$/.test(file) && !/^(package|package-lock|biome|tsconfig.*)\.json$/.test(file)
}

function isWatched(file: string, isFile: boolean): boolean {
  const [top = ''] = file.split(path.sep)
  if (file === '') return true
  if (path.basename(file).startsWith('.')) return false // an editor's own
  if (top === file && !folders.includes(top)) return isContractFile(file) || /^tsconfig.*\.json$/.test(file)
  return folders.includes(top) && (!isFile || /\.(ts|sql|yaml|json)$/.test(file))
}
