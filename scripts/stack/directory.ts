import { chmod, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'

export interface TemporaryDirectory {
  readonly directory: string
  remove(): Promise<void>
}

/** Makes an empty directory, which the embedded database's user can pass through when root makes it. */
export async function makeTemporaryDirectory(): Promise<TemporaryDirectory> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'animal-store-'))
  await chmod(directory, 0o755)
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) }
}
