// The edits to the project's files, a burst at a time. chokidar watches folders, not inodes, so that an editor that
// writes by renaming is seen, and one that writes twice is heard once. Node's own recursive fs.watch misses files of
// folders made while it looks at them, on Linux in Node 20.

import { once } from 'node:events'
import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
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
  const newFolders = new Set<string>()
  let lastMs = 0
  const watcher = watch(root, {
    ignoreInitial: true,
    ignored: (file, stats) => !isWatched(nameOf(root, file), stats?.isFile() ?? false),
  })
  watcher.on('all', (event, file) => {
    const name = nameOf(root, file)
    if (event === 'addDir') newFolders.add(name)
    else if (event !== 'unlinkDir') edits.add(name)
    lastMs = performance.now()
  })
  await once(watcher, 'ready')
  for (;;) {
    const burst = [...edits].sort()
    edits.clear() // before the step: an edit during it is for the next
    yield burst
    do {
      if (edits.size + newFolders.size === 0) await once(watcher, 'all')
      while (performance.now() - lastMs < quietMs) await delay(quietMs)
      for (const folder of newFolders) {
        newFolders.delete(folder)
        for (const entry of await entriesOf(root, folder)) {
          const file = `${folder}/${entry.name}`
          if (!isWatched(file, entry.isFile())) continue
          if (entry.isFile()) edits.add(file)
          if (entry.isDirectory()) newFolders.add(file)
          watcher.add(path.join(root, file))
        }
      }
    } while (edits.size === 0)
  }
}

// chokidar reads a new folder, then watches it: of what is made in between it never tells.
function entriesOf(root: string, folder: string): Promise<Dirent[]> {
  return readdir(path.join(root, folder), { withFileTypes: true }).catch(() => []) // gone again
}

function nameOf(root: string, file: string): string {
  return path.relative(root, file).replaceAll(path.sep, '/')
}

/** Whether a file, by its path relative to the root, may be a part of the contract. */
export function isContractFile(file: string): boolean {
  if (file.startsWith('openapi/')) return true
  return /^[^/]+\.(yaml|json)$/.test(file) && !/^(package|package-lock|biome|tsconfig.*)\.json$/.test(file)
}

function isWatched(file: string, isFile: boolean): boolean {
  const [top = ''] = file.split('/')
  if (file === '') return true
  if (path.basename(file).startsWith('.')) return false // an editor's own
  if (top === file && !folders.includes(top)) return isContractFile(file) || /^tsconfig.*\.json$/.test(file)
  return folders.includes(top) && (!isFile || /\.(ts|sql|yaml|json)$/.test(file))
}
