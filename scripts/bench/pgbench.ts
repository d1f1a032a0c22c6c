// Measures the database alone: pgbench with the same statements.

import { execFile, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** True if pgbench is in PATH. */
export const hasPgbench: boolean = spawnSync('pgbench', ['--version']).error === undefined

// A common pool size.
const clients = 10

/** Its name and title in the tables. */
export const pgbench = { name: 'pgbench', title: `pgbench, ${clients} clients: the database alone` }

export interface Script {
  readonly name: string
  readonly statement: string
  /** The pgbench variable `:rows`. */
  readonly rows: number
  readonly durationMs: number
}

/** Runs a prepared statement for the duration, rounded to seconds. */
export async function runPgbench(
  { name, statement, rows, durationMs }: Script,
  env: Readonly<Record<string, string>>,
  folder: string,
  signal: AbortSignal,
): Promise<{ transactionsPerSecond: number; count: number }> {
  const file = path.join(folder, `${name}.sql`)
  await writeFile(file, `${statement}\n`)
  const args = ['--no-vacuum', '--protocol=prepared', `--client=${clients}`, '--jobs=1', `--file=${file}`]
  args.push(`--time=${Math.max(1, Math.round(durationMs / 1000))}`, `--define=rows=${rows}`)
  const target = env.PGHOST === undefined ? [env.DATABASE_URL ?? ''] : []
  const { stdout } = await run('pgbench', [...args, ...target], { env: { ...process.env, ...env }, signal })
  const number = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1])
  return {
    transactionsPerSecond: number(/tps = ([\d.]+)/),
    count: number(/transactions actually processed: (\d+)/),
  }
}
