#!/usr/bin/env bash
# Expected: of the routes /a/:id and /a/:id.json, the path /a/.json is the first, with the id ".json": a parameter stands for
#   something, as /a/:id of "/a/x" does, and OpenAPI's templates, Express and most routers read it so.
# What comes: /a/:id.json, with the id "". The pattern that find-my-way makes for a parameter beside text is (.*?), so a suffix
#   (also `:verb` behind "::", and `-` between two parameters) takes such paths from the plain route, and a handler of the
#   plain route never sees them. With an explicit pattern, /a/:id(.+?).json, both are as expected.
# Versions: fastify 5.12.8 with find-my-way 9.10.1, Node 20.20; tried on 2026-11-27.
# Why it matters: a handler gets an empty id without knowing that it can; a service that answers 404 for it denies a path that its
#   own document has.
# Exit: 0 as told, 1 if it has changed, 77 if the packages cannot be installed.
set -u
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder" || exit 77
npm init -y > /dev/null && npm install --silent --no-audit --no-fund fastify@5.12.8 find-my-way@9.10.1 > /dev/null 2>&1 || exit 77
cat > a.cjs <<'JS'
const route = (app, url) => app.get(url, async ({ params, routeOptions }) => `${routeOptions.url} ${JSON.stringify(params)}`)
const ask = async (urls, path) => {
  const app = require('fastify')()
  for (const url of urls) route(app, url)
  return (await app.inject(path)).body
}
async function main() {
  const rows = [
    [['/a/:id', '/a/:id.json'], '/a/x.json', '/a/:id.json {"id":"x"}'],
    [['/a/:id', '/a/:id.json'], '/a/.json', '/a/:id.json {"id":""}'],
    [['/a/:id', '/a/:x-:y'], '/a/-', '/a/:x-:y {"x":"","y":""}'],
    [['/a/:id', '/a/:id(.+?).json'], '/a/.json', '/a/:id {"id":".json"}'],
  ]
  let changed = 0
  for (const [urls, path, told] of rows) {
    const came = await ask(urls, path)
    console.log(`${urls.join(', ')}: ${path} is ${came}`)
    if (came !== told) changed = 1
  }
  process.exit(changed)
}
main()
JS
node a.cjs
