#!/usr/bin/env bash
# ratelimit-header-parser reads NaN from the headers that express-rate-limit, of the same authors, sends in its newest form.
#
# Expected: the parser of "RateLimit headers of various forms" reads the limit, the remaining requests and the reset from
#   a response that express-rate-limit has made, and, if it does not know one form, those of the older form beside it.
# What comes: with `standardHeaders: 'draft-8'`, which sends `RateLimit: "5-in-1min"; r=4; t=60`, each number is NaN, and
#   no error says so; `remaining < 1` and `remaining > 0` are both false then. With `legacyHeaders: true` the response
#   has X-RateLimit-Limit, -Remaining and -Reset as well, and all three are NaN all the same: the one header that it does
#   not understand wins. The forms of draft 6 and 7 are read.
# Why it matters: a service that adds the new header to its old ones breaks its callers, who see no error: they stop to
#   wait, or wait for ever. Give the parser a copy of the headers without RateLimit.
# Versions: ratelimit-header-parser 0.1.0, express-rate-limit 8.7.4, express 5.3.0, Node 20.20.2. Date: 2026-11-27.
# Exit codes: 0 as described, 1 it has changed, 77 the packages cannot be installed.
set -u
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder" || exit 77
echo '{"type":"module","private":true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --loglevel=error ratelimit-header-parser@0.1.0 express-rate-limit@8.7.4 \
  express@5.3.0 >npm.log 2>&1 || exit 77
cat >ask.js <<'JS'
import express from 'express'
import { rateLimit } from 'express-rate-limit'
import { parseRateLimit } from 'ratelimit-header-parser'

for (const [standardHeaders, legacyHeaders] of [['draft-6', false], ['draft-7', false], ['draft-8', false], ['draft-8', true], [false, true]]) {
  const app = express()
  app.use(rateLimit({ windowMs: 60_000, limit: 5, standardHeaders, legacyHeaders }))
  app.get('/', (_, response) => response.send('ok'))
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const response = await fetch(`http://127.0.0.1:${server.address().port}/`)
  const { limit, remaining } = parseRateLimit(response) ?? {}
  console.log(`${standardHeaders}${legacyHeaders ? ' and X-RateLimit' : ''}: limit ${limit}, remaining ${remaining}`)
  server.close()
}
process.exit(0)
JS
came=$(node ask.js) || exit 77
echo "$came"
[ "$came" = 'draft-6: limit 5, remaining 4
draft-7: limit 5, remaining 4
draft-8: limit NaN, remaining NaN
draft-8 and X-RateLimit: limit NaN, remaining NaN
false and X-RateLimit: limit 5, remaining 4' ]
