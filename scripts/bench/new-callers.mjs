// A thread of callers who all connect at once, separate from the generator of the other load. Each sends a
// request when it is connected. Reports the wait of each in milliseconds, from `connect` to the first byte of
// the response.

import net from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

function call(request) {
  const began = performance.now()
  return new Promise((resolve, reject) => {
    const socket = net.connect(workerData.port, '127.0.0.1')
    socket.on('connect', () => socket.write(request))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('a new caller lost its connection')))
    socket.once('data', (bytes) => {
      resolve({ ms: performance.now() - began, status: Number(bytes.toString('latin1', 9, 12)) })
      socket.destroy()
    })
  })
}

parentPort?.postMessage(await Promise.all(workerData.requests.map(call)))
