// What a generator's process runs: the jobs that its parent sends, one at a time.

import type { Message } from './generator.js'
import { type Job, runLoad } from './load.js'

const send = (message: Message) => void process.send?.(message)

process.on('message', (job: Job) => {
  runLoad(job).then(
    (result) => send({ result }),
    (error: Error) => send({ failure: error.message }),
  )
})
