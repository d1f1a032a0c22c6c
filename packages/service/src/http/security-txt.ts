// Serves security.txt (RFC 9116), which names the contact for vulnerabilities, if the operator sets one.

import { type Contract, operationAt } from 'contract-engine'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.js'
import { securityTxtPath } from './service-paths.js'

// RFC 9116, section 2.5.5: less than a year. Each response begins the time anew.
const validForMs = 30 * 24 * 60 * 60 * 1000

/** Adds `/.well-known/security.txt`, unless there is no contact, or an operation has that path. */
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
