// A temporary server of Debian's PostgreSQL packages. They have JIT, which the embedded binaries lack.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { prepareDirectory } from 'contract-service/internal/database/embedded/data-directory'
import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'
import { startServer, urlOf } from './replication.js'

const packages = '/usr/lib/postgresql'

/** The folder with the binaries of the newest version that is installed; undefined if none is. */
export function debianBinaries(): string | undefined {
  if (!existsSync(packages)) return undefined
  const folders = readdirSync(packages).sort((a, b) => Number(b) - Number(a))
  return folders.map((version) => path.join(packages, version, 'bin')).find(hasServer)
}

// The client's packages are in such a folder, too.
function hasServer(bin: string): boolean {
  return existsSync(path.join(bin, 'initdb'))
}

/** Runs `act` with the URL of a server that these binaries start, which is removed afterwards. */
export function withDebianPostgres<Result>(
  bin: string,
  act: (url: string) => Promise<Result>,
): Promise<Result> {
  return inTemporaryDirectory(async (parent) => {
    const directory = path.join(parent, 'postgresql')
    const identity = await prepareDirectory(directory)
    const options = ['--pgdata=data', '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C']
    execFileSync(path.join(bin, 'initdb'), options, { cwd: directory, stdio: 'pipe', ...identity })
    const server = await startServer(directory, { settings: [`unix_socket_directories=${directory}`], bin })
    try {
      return await act(urlOf(server))
    } finally {
      await server.kill()
    }
  })
}
