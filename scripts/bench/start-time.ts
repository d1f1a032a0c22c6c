// From the start of the process to its first answer.

import { makeTemporaryDirectory } from '../stack/directory.js'
import type { BenchDatabase } from './database.js'
import { whole } from './report.js'
import { spreadOf } from './statistics.js'
import { service, startSubject } from './subjects.js'

const starts = 5

/** Starts the service several times on either kind of database; gives a Markdown table. */
export async function measureStarts(database: BenchDatabase, logFile: string): Promise<string> {
  const { directory, remove } = await makeTemporaryDirectory()
  try {
    await startTime({ DATA_DIR: directory }, logFile) // makes the database
    const embedded = await startTimes({ DATA_DIR: directory }, logFile)
    const named = await startTimes(database.env, logFile)
    return [
      '| database | ms to the first answer, median (minimum to maximum) |',
      '|---|--:|',
      `| embedded, made before, not running | ${embedded} |`,
      `| \`DATABASE_URL\` | ${named} |`,
      '',
    ].join('\n')
  } finally {
    await remove()
  }
}

async function startTimes(env: Readonly<Record<string, string>>, logFile: string): Promise<string> {
  const times: number[] = []
  for (let i = 0; i < starts; i++) times.push(await startTime(env, logFile))
  const { median, min, max } = spreadOf(times)
  return `${whole(median)} (${whole(min)} to ${whole(max)})`
}

async function startTime(env: Readonly<Record<string, string>>, logFile: string): Promise<number> {
  const running = await startSubject(service, env, logFile)
  await running.stop()
  return running.startMs
}
