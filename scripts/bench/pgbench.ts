// The limit of the database: pgbench with the same statements, where it is installed.

import { execFile, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Operation } from './operations.js'

const run = promisify(execFile)

/** Whether there is one in PATH. */
export const hasPgbench: boolean = spawnSync('pgbench', ['--version']).error === undefined

// As many as a pool commonly has.
const clients = 10

export interface PgbenchResult {
  readonly transactionsPerSecond: number
  readonly count: number
}

/** Runs one operation's statement, prepared. */
export async function runPgbench(
  { name, statement }: Operation,
  env: Readonly<Record<string, string>>,
  folder: string,
  { rows, durationMs }: { rows: number; durationMs: number },
): Promise<PgbenchResult> {
  const file = path.join(folder, `${name}.sql`)
  await writeFile(file, `${statement}\n`)
  const args = ['--no-vacuum', '--protocol=prepared', `--client=${clients}`, '--jobs=1', `--file=${file}`]
  args.push(`--time=${Math.max(1, Math.round(durationMs / 1000))}`, `--define=rows=${rows}`)
  const target = env.PGHOST === undefined ? [env.DATABASE_URL ?? ''] : []
  const { stdout } = await run('pgbench', [...args, ...target], { env: { ...process.env, ...env } })
  const number = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1])
  return {
    transactionsPerSecond: number(/tps = ([\d.]+)/),
    count: number(/transactions actually processed: (\d+)/),
  }
}
