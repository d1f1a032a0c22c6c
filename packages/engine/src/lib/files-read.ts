// Where the engine says which files of contracts it reads, for who watches them: `npm run dev` of a service.

import { type Channel, channel } from 'node:diagnostics_channel'

/** Is told the path of each file, before it is read. */
export const filesRead: Channel = channel('contract-engine:files-read')
