import net, { type Socket } from 'node:net'

/** Sends bytes verbatim, and returns everything that the server sends until it closes the connection. */
export function sendRaw(origin: string, ...chunks: (string | Uint8Array)[]): Promise<string> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    const socket: Socket = net.connect(Number(port), hostname, () => {
      for (const chunk of chunks) socket.write(chunk)
    })
    let received = ''
    socket.setEncoding('utf8')
    socket.on('data', (text) => {
      received += text
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(received))
  })
}
