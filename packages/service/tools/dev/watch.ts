// Watches the project's files and reports edits in bursts. chokidar watches folders rather than inodes, so it
// sees editors that write a new file and rename it. On Linux, the recursive fs.watch of Node 20 misses files
// in folders created while it scans them.

import { once } from 'node:events'
import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type FSWatcher, watch } from 'chokidar'

// A burst ends after this long without an event. A checkout writes many files, and an editor may write one
// twice.
const quietMs = 60
const folders = ['src', 'scripts', 'test', 'packages']
// Output of `npm run generate` and of builds, packages, and folders with YAML and JSON that is no contract.
const others = ['deploy', 'dist', 'docs', 'generated', 'node_modules']
const projectFiles = /^((package|package-lock|biome|renovate|tsconfig.*)\.json|docker-compose\.yml)$/

/** The edits of a project's files. */
export interface Watched {
  /** Each burst of edits, as paths relative to the root. The first is empty, once the watcher is ready. */
  readonly bursts: AsyncGenerator<readonly string[]>
  /** Also watches this file of a contract, wherever it is and whatever its name. */
  add(file: string): void
  /** True if a file, by its path relative to the root, is or may be part of a contract. */
  isContractFile(file: string): boolean
}

/** Watches the files of a project. */
export function watchProject(root: string): Watched {
  const added = new Set<string>()
  const leadsToAdded = (name: string) =>
    [...added].some((each) => each === name || each.startsWith(`${name}/`))
  const watcher = watch(root, {
    ignoreInitial: true,
    ignored: (file, stats) => {
      const name = nameOf(root, file)
      return !isWatched(name, stats?.isFile() ?? false) && !leadsToAdded(name)
    },
  })
  const add = (file: string) => {
    const name = nameOf(root, file)
    if (added.has(name)) return
    added.add(name)
    if (!isWatched(name, true)) watcher.add(path.dirname(file))
  }
  return {
    bursts: burstsOf(root, watcher),
    add,
    isContractFile: (file) => added.has(file) || mayBeContract(file),
  }
}

async function* burstsOf(root: string, watcher: FSWatcher): AsyncGenerator<readonly string[]> {
  const edits = new Set<string>()
  const newFolders = new Set<string>()
  let lastMs = 0
  watcher.on('all', (event, file) => {
    const name = nameOf(root, file)
    if (event === 'addDir') newFolders.add(name)
    else if (event !== 'unlinkDir') edits.add(name)
    lastMs = performance.now()
  })
  await once(watcher, 'ready')
  for (;;) {
    const burst = [...edits].sort()
    edits.clear() // before the yield: an edit during it belongs to the next burst
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

// chokidar lists a new folder and then watches it; it never reports files created in between.
function entriesOf(root: string, folder: string): Promise<Dirent[]> {
  return readdir(path.join(root, folder), { withFileTypes: true }).catch(() => []) // deleted in the meantime
}

function nameOf(root: string, file: string): string {
  return path.relative(root, file).replaceAll(path.sep, '/')
}

// A contract may be in any folder but these.
function mayBeContract(file: string): boolean {
  if ([...folders, ...others].includes(topOf(file))) return false
  return /\.(yaml|yml|json)$/.test(file) && !projectFiles.test(file)
}

function isWatched(file: string, isFile: boolean): boolean {
  if (file === '') return true
  if (path.basename(file).startsWith('.')) return false // editors' swap and backup files
  if (['..', ...others].includes(topOf(file))) return false
  if (!isFile || mayBeContract(file) || /^tsconfig.*\.json$/.test(file)) return true
  if (topOf(file) === 'src') return /\.\w+$/.test(file) // also data files that handlers read
  return folders.includes(topOf(file)) && /\.(ts|sql|yaml|json)$/.test(file)
}

function topOf(file: string): string {
  return file.split('/', 1)[0] ?? ''
}
