#!/usr/bin/env bash
# Expected: v8.deserialize(bytes) makes new values, as JSON.parse and structuredClone do: what is done to them leaves the bytes alone,
#   and a small Buffer in them holds a small piece of memory. Its documentation says no more than that it reads a value from a buffer.
# What comes: a Buffer or typed array in the result is a view of the bytes that were read. Writing into it changes them, so reading
#   them again gives another value; and 3 bytes that are kept keep all of a megabyte. It is a copy only if its offset there does not
#   suit its element size, so whether two values share memory depends on the length of a text that comes before.
# Versions: Node 20.20 (node:v8, no package); tried on 2026-11-27.
# Why it matters: a cache that keeps serialized entries and hands out what it reads of them is changed by whoever edits an entry, and
#   a server that keeps one small part of a large file keeps the file.
# Exit: 0 as told, 1 if it has changed, 77 if there is no Node.
set -u
command -v node > /dev/null || exit 77
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder" || exit 77
cat > a.cjs <<'JS'
const { serialize, deserialize } = require('node:v8')
const bytes = serialize({ small: Buffer.from('abc'), rest: 'x'.repeat(1_000_000) })
const { small } = deserialize(bytes)
small[0] = 'X'.charCodeAt(0)
const again = String(deserialize(bytes).small)
console.log(`read again after an edit of what was read: ${again}; a Buffer of ${small.length} bytes keeps ${small.buffer.byteLength}`)
const shared = [0, 1, 2, 3, 4, 5, 6, 7].map((length) => {
  const stored = serialize({ text: 'x'.repeat(length), numbers: new Float64Array([1, 2]) })
  return deserialize(stored).numbers.buffer === stored.buffer
})
console.log(`a Float64Array behind a text of 0 to 7 letters shares memory: ${shared.join(', ')}`)
const source = { small: Buffer.from('abc') }
structuredClone(source).small[0] = 0
console.log(`after an edit of a structuredClone: ${source.small}`)
const isAsTold = again === 'Xbc' && small.buffer.byteLength > 1_000_000 && shared.includes(true) && shared.includes(false)
process.exit(isAsTold ? 0 : 1)
JS
node a.cjs
