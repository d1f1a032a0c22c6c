// Prints a row of ../README.md for each helper, as measured. Exits with 1 if one is not in the page,
// which is the argument, or if a setting does not help.

import { readFileSync } from 'node:fs'
import './time.mjs'
import { caches } from './caches.mjs'
import { helpers } from './helpers.mjs'
import { readers } from './readers.mjs'
import { page, refusedWith, servedBy } from './service.mjs'
import { secondsOf, untilDone } from './time.mjs'

const shown = readFileSync(process.argv[2] ?? '', 'utf8').split('\n')
const day = 86_400
let failures = 0

for (const { name, plain, setting, right } of helpers) {
  const { waits, longest, repeats } = await measure(plain)
  report(`| ${packageOf(name)} | ${waits} | ${longest} | ${repeats} | \`${setting}\` |`)
  const [short, long] = [await gapOf(right, 'GET', 429, 7), await gapOf(right, 'GET', 429, day)]
  if ((short.gap ?? 7) < 7 || long.total > 180) fail(`${name}: ${setting}`, { short, long })
}
for (const [name, make] of Object.entries(caches)) {
  const [cache, ...setting] = name.split(', ')
  report(`| ${[packageOf(cache), ...setting].join(', ')} | ${await revalidates(make)} |`)
}
for (const [name, remaining] of Object.entries(readers)) {
  const { ratelimit, 'ratelimit-policy': policy, ...old } = page.headers
  const expected = Number(old['x-ratelimit-remaining'])
  report(
    `| ${packageOf(name)} | ${remaining(page.headers) === expected ? 'right' : remaining(page.headers)} |`,
  )
  if (remaining(old) !== expected) fail(`${name} without RateLimit`, remaining(old))
}
process.exit(failures === 0 ? 0 : 1)

// What a helper does, as the cells of its row.
async function measure(helper) {
  const [waiting, early] = [[], []]
  for (const status of [409, 429, 503]) {
    const { gap } = await gapOf(helper, 'GET', status, 7)
    if (gap !== undefined) (gap >= 7 ? waiting : early).push(status)
  }
  const posts = []
  for (const status of [409, 429, 503, undefined])
    if ((await gapOf(helper, 'POST', status, 7)).gap !== undefined) posts.push(status ?? 'a lost connection')
  const { gap, total } = await gapOf(helper, 'GET', 429, day)
  const sooner = early.length === 0 ? [] : [`${listOf(early)} sooner`]
  return {
    waits: [...(waiting.length === 0 ? [] : [listOf(waiting)]), ...sooner].join('; ') || 'none',
    longest: !waiting.includes(429)
      ? ''
      : gap === undefined
        ? `gives up${total < 1 ? '' : ` after ${total} s`}`
        : gap >= day
          ? 'any'
          : `${Math.round(gap)} s, repeats`,
    repeats: listOf(posts) || 'no',
  }
}

// The seconds between a first request, which fails, and the next one, if there is one.
async function gapOf(helper, method, status, seconds) {
  const answer = (n) => (n > 1 ? page : status === undefined ? undefined : refusedWith(status, seconds))
  const body = method === 'GET' ? undefined : '{"name":"Rex","categoryId":3}'
  const headers = { 'content-type': 'application/json', authorization: 'Bearer key' }
  const init = { method, headers, ...(body && { body }) }
  const { requests, result } = await servedBy(answer, (url) => secondsOf(() => helper(url, init)))
  const [first, next] = requests
  if (first === undefined) throw result.error ?? new Error('sends nothing')
  return { gap: next && next.at - first.at, total: result.seconds, error: result.error?.message }
}

async function revalidates(make) {
  const get = make()
  const headers = { authorization: 'Bearer key' }
  const answer = (n, request) => {
    const isSame = n < 3 && request.headers['if-none-match'] === page.headers.etag
    const changed =
      n < 3 ? page : { ...page, body: '["changed"]', headers: { ...page.headers, etag: '"changed"' } }
    return isSame ? { status: 304, headers: page.headers } : changed
  }
  const { requests, result } = await servedBy(answer, (url) =>
    untilDone(async () => [await get(url, headers), await get(url, headers), await get(url, headers)]),
  )
  if (result.error) return `fails: ${result.error.message}`
  if (result.value[1] !== result.value[0]) return 'shows another body'
  if (result.value[2] !== '["changed"]') return 'shows the old body, unasked'
  return requests[1]?.headers['if-none-match'] ? 'yes' : 'no, it asks in full'
}

function packageOf(name) {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8'))
  return `${name} ${version}`
}

function listOf(all) {
  return all.join(', ')
}

function report(row) {
  console.log(row)
  if (!shown.includes(row)) fail(row)
}

function fail(label, cause) {
  failures++
  console.log('  not so:', label, cause ?? '')
}
