#!/bin/sh
# The linter that most projects with OpenAPI run in CI refuses valid schemas.
#
# One expects: in OpenAPI 3.1 and 3.2 a schema is one of JSON Schema 2020-12, where `true` and `false` are schemas
# wherever a schema may stand (JSON Schema Core, section 4.3.2), and the lint accepts them.
# What comes: Redocly accepts them as additionalProperties, unevaluatedProperties, unevaluatedItems, items and in
# properties and patternProperties; as prefixItems, contains, propertyNames, anyOf, oneOf, allOf, not, if, then,
# else, contentSchema, in dependentSchemas, $defs and components, and as the schema of a media type or a parameter
# it reports "Expected type `Schema` (object) but got `boolean`", an error of the rule `struct`, which the
# recommended rules switch on. OpenAPI 3.1.1, section 4.8.24, has both: the empty schema may be `true`, and one
# that allows nothing `false`.
# Versions: @redocly/openapi-core 1.34.24 and 2.64.0, Node 20 and later. Date: 2026-11-27.
# Why it matters: a document is changed (`{}` and `{ not: {} }`), or the rule `struct` is switched off and with it
# the check of all other fields.
# Exits 1 if that has changed, 77 if the packages cannot be installed.
set -u
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder" || exit 77
echo '{ "type": "module" }' > package.json
for version in 1.34.24 2.64.0; do
  npm install --silent --no-audit --no-fund --ignore-scripts "redocly-$version@npm:@redocly/openapi-core@$version" > npm.log 2>&1 || exit 77
done
cat > lint.mjs <<'JS'
const version = process.argv[2]
const { lintFromString, createConfig } = await import(`redocly-${version}`)
const config = await createConfig({ extends: ['recommended'] })
const object = (keyword, value) => ({ type: 'object', [keyword]: value })
const places = {
  additionalProperties: object('additionalProperties', false),
  unevaluatedProperties: object('unevaluatedProperties', false),
  properties: object('properties', { a: true }),
  patternProperties: object('patternProperties', { '^a': false }),
  items: { type: 'array', items: false },
  unevaluatedItems: { type: 'array', unevaluatedItems: false },
  prefixItems: { type: 'array', prefixItems: [true, { type: 'integer' }] },
  contains: { type: 'array', contains: true },
  propertyNames: object('propertyNames', false),
  anyOf: { anyOf: [false, { type: 'integer' }] },
  oneOf: { oneOf: [false, { type: 'integer' }] },
  allOf: { allOf: [true, { type: 'integer' }] },
  not: object('properties', { a: { not: true } }),
  'if and then': { type: 'object', if: { required: ['a'] }, then: false },
  dependentSchemas: object('dependentSchemas', { a: false }),
  $defs: { $defs: { Never: false } },
  'a media type': true,
}
for (const [place, schema] of Object.entries(places)) {
  const content = { 'application/json': { schema } }
  const responses = { 200: { description: 'All.', content }, '4XX': { description: 'None.' } }
  const document = {
    openapi: '3.1.0',
    info: { title: 'A', version: '1.0.0', license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: 'https://api.test' }],
    security: [],
    paths: { '/a': { get: { operationId: 'a', summary: 'A', responses } } },
  }
  const found = await lintFromString({ source: JSON.stringify(document), config })
  const refused = found.filter(({ ruleId, severity }) => ruleId === 'struct' && severity === 'error')
  console.log(`${version} ${place}: ${refused.length === 0 ? 'accepted' : refused[0].message}`)
}
JS
for version in 1.34.24 2.64.0; do node lint.mjs "$version" || exit 77; done | tee found
refused=$(grep -c 'but got `boolean`' found)
echo "$refused of 34 refused"
[ "$refused" = 22 ] || exit 1
