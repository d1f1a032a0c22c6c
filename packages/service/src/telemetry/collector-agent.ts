// Connects to a collector over TLS. OpenTelemetry would read the certificates only once, at startup.

import { readFileSync } from 'node:fs'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import type { OtlpFiles } from '../config.js'

/**
 * An agent that reads the files whenever it connects, so that it uses renewed ones. Its errors name the
 * files.
 */
export class CollectorAgent extends https.Agent {
  constructor(readonly files: OtlpFiles) {
    // No cached sessions, because a resumed session would not use the files.
    super({ keepAlive: true, maxCachedSessions: 0 })
  }

  override createConnection(...[options, callback]: Parameters<https.Agent['createConnection']>) {
    const named = Object.entries(this.files).filter(([, file]) => file !== undefined)
    try {
      const contents = named.map(([option, file]) => [option, readFileSync(file)])
      return super.createConnection({ ...options, ...Object.fromEntries(contents) }, callback) as Duplex
    } catch (error) {
      const { message } = error as Error
      throw new Error(`${message} (${named.map(([, file]) => file).join(', ')})`, { cause: error })
    }
  }
}
