// Finds generated files whose content would differ if they were generated now.

import { readFile } from 'node:fs/promises'
import path from 'node:path'

/** A generated file that is missing or not up to date. */
export interface Outdated {
  /** The name of the file in the folder. */
  readonly name: string
  readonly state: 'stale' | 'missing'
  /** The content that the file should have. */
  readonly content: string
}

/** Compares the files of a folder with the content that they should have, by name. It ignores other files. */
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
