// Generated files that are not as they would be generated now.

import { readFile } from 'node:fs/promises'
import path from 'node:path'

/** A generated file that is not up to date. */
export interface Outdated {
  /** Its name in the folder. */
  readonly name: string
  readonly state: 'stale' | 'missing'
  /** What it should contain. */
  readonly content: string
}

/** Compares the files of a folder with what they should contain, by name. Other files are not looked at. */
export async function outdated(
  folder: string,
  contents: ReadonlyMap<string, string>,
): Promise<readonly Outdated[]> {
  const found = [...contents].map(async ([name, content]): Promise<Outdated[]> => {
    const present = await readFile(path.join(folder, name), 'utf8').catch(unlessMissing)
    if (present === content) return []
    return [{ name, state: present === undefined ? 'missing' : 'stale', content }]
  })
  return (await Promise.all(found)).flat()
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
