// Whom to tell of a vulnerability (RFC 9116), if the operator says so.

import { type Contract, operationAt } from 'contract-engine'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.js'
import { securityTxtPath } from './service-paths.js'

// RFC 9116, section 2.5.5: less than a year. The setting is in use for as long as the service responds.
const validForMs = 30 * 24 * 60 * 60 * 1000

/** Adds `/.well-known/security.txt`, unless there is no contact, or the path is that of an operation. */
export function addSecurityTxt(
  app: FastifyInstance,
  contract: Contract,
  { securityContacts }: Pick<Config, 'securityContacts'>,
): void {
  if (securityContacts.length === 0 || operationAt(securityTxtPath, contract) !== undefined) return
  const contacts = securityContacts.map((uri) => `Contact: ${uri}\n`).join('')
  app.get(securityTxtPath, async (_, reply) => {
    reply.type('text/plain; charset=utf-8')
    return `${contacts}Expires: ${new Date(Date.now() + validForMs).toISOString()}\n`
  })
}
