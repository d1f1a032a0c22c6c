#!/usr/bin/env bash
# Expected: a server that is bundled into one file, its packages included, serves the same specification as unbundled; or, where a package needs files
#   that the bundle lacks, the error of the missing file stops it.
# What comes: fastify-openapi-glue rejects its registration: "'specification' parameter must contain a valid specification of a supported OpenApi
#   version". Its validator, @seriousme/openapi-schema-validator, reads the JSON Schema of OpenAPI from the folder of its own module, which in a
#   bundle is that of the bundle. glue catches whatever the validator throws, writes the reason (ENOENT) to the standard output, and goes on as
#   if the specification were invalid. The copy in an ES module and the one in CommonJS (where the folder is not even known) fail alike.
# Versions: fastify-openapi-glue 4.11.4, @seriousme/openapi-schema-validator 2.11.0, fastify 5.12.8, esbuild 0.28.1; tried on 2026-11-29.
# Why it matters: who deploys a bundle looks for the fault in a specification that is valid, and passes every linter. An alias of the bundler
#   that replaces the validator, or leaving both packages outside of the bundle, mends it.
# Exit: 0 as told, 1 if it has changed, 77 if the packages cannot be installed.
set -u
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder" || exit 77
echo '{"type":"module","private":true}' > package.json
npm install --silent --no-audit --no-fund fastify@5.12.8 fastify-openapi-glue@4.11.4 @seriousme/openapi-schema-validator@2.11.0 esbuild@0.28.1 > /dev/null 2>&1 || exit 77
cat > server.js <<'JS'
import Fastify from 'fastify'
import glue from 'fastify-openapi-glue'
const responses = { 200: { description: 'It.' } }
const specification = {
  openapi: '3.1.0',
  info: { title: 'Toys', version: '1.0.0' },
  paths: { '/toys': { get: { operationId: 'listToys', responses } } },
}
const main = async () => {
  const app = Fastify()
  await app.register(glue, { specification, serviceHandlers: { listToys: async () => ['ball'] } })
  console.log('responds', (await app.inject('/toys')).body)
}
main().catch(({ message }) => console.log('rejects', message))
JS
bundle() { node_modules/.bin/esbuild server.js --bundle --platform=node --log-level=silent "$@"; }
requiring="import { createRequire as of } from 'node:module'; const require = of(import.meta.url)"
mkdir esm cjs
bundle --format=esm --outfile=esm/server.mjs --banner:js="$requiring" && bundle --format=cjs --outfile=cjs/server.cjs || exit 77
plain=$(node server.js); esm=$(node esm/server.mjs); cjs=$(node cjs/server.cjs)
printf 'unbundled: %s\nES module: %s\nCommonJS: %s\n' "$plain" "$esm" "$cjs"
refused='rejects .specification. parameter must contain a valid specification'
[[ $plain == 'responds ["ball"]' && $esm =~ $refused && $esm == *ENOENT* && $cjs =~ $refused ]]
