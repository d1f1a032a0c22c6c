// The channel on which the engine announces the files of contracts that it reads. `npm run dev` of a service
// watches them.

import { type Channel, channel } from 'node:diagnostics_channel'

/** Announces the path of each file before the file is read. */
export const filesRead: Channel = channel('contract-engine:files-read')
