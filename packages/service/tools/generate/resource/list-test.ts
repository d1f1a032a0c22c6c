// Writes the test of a resource's list: each order, page by page, and each filter.

import type { Operation } from 'contract-engine'
import type { Filter, ListOrder } from './list.js'
import { setsHeader } from './operations.js'
import type { Resource } from './resource.js'
import { type Filtered, filtered, type Rows, sorted } from './rows.js'
import { sampleOf } from './samples.js'
import { memberText, pathPattern, testOf } from './test-parts.js'

/** Returns the text of the test. */
export function listTest(resource: Resource, rows: Rows, list: Operation): string {
  const { many } = resource
  const limit = Math.min(resource.list?.limitMax ?? 100, 100)
  const filters = filterCases(resource, rows, list)
  const orders = orderCases(resource, rows, list).join(', ')
  return testOf(`${many} are listed in each order, page by page, and by each filter`, [
    'const all: Record<string, unknown>[] = []',
    `for (const each of sent.slice(0, ${rows.count})) all.push((await add(each)).body)`,
    'const texts = (found: readonly unknown[]) => found.map((each) => JSON.stringify(each))',
    `const orders: [query: string, rows: number[] | undefined][] = [${orders}]`,
    'for (const [query, rows] of orders) {',
    '  const found: unknown[] = []',
    ...(setsHeader(list, 'Link')
      ? pageLines(list)
      : [`  found.push(...(await call('GET', \`${list.path}?limit=${limit}&\${query}\`)).body)`]),
    '  if (rows === undefined) t.strictSame(texts(found).sort(), texts(all).sort(), query)',
    '  else t.strictSame(texts(found), texts(rows.map((i) => all[i])), query)',
    '}',
    ...(filters.length === 0 ? [] : filterLines(list, filters, limit)),
  ])
}

// Reads pages of one row, so that a page begins after each position.
function pageLines(list: Operation): string[] {
  const pattern = pathPattern(list.path, '\\?[^<>]*')
  return [
    `  let next = \`${list.path}?limit=1&\${query}\``,
    `  while (next !== '' && found.length <= all.length) {`,
    "    const { body, headers } = await call('GET', next)",
    '    t.ok(body.length <= 1)',
    '    found.push(...body)',
    `    next = /${pattern}>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? ''`,
    '  }',
  ]
}

function filterLines(list: Operation, cases: readonly string[], limit: number): string[] {
  return [
    `const filters: [query: string, rows: number[]][] = [${cases.join(', ')}]`,
    'for (const [query, rows] of filters) {',
    `  const { body } = await call('GET', \`${list.path}?limit=${limit}&\${query}\`)`,
    '  t.strictSame(texts(body).sort(), texts(rows.map((i) => all[i])).sort(), query)',
    '}',
  ]
}

// Returns a case for each order, and one for a request that names no order.
function orderCases(resource: Resource, rows: Rows, list: Operation): string[] {
  const { orders = [], orderParameter } = resource.list ?? {}
  const named = list.parameters.find(({ name }) => name === orderParameter)
  const usual = orders.find(({ name }) => name === named?.schema.default) ?? orders[0]
  const always = requiredFilters(resource, rows, list)
  const caseOf = (query: string, order: ListOrder) => {
    const found = sorted(resource, rows, order)?.filter((i) => always.every((each) => each.found.includes(i)))
    const all = [...always.map((each) => queryOf(list, each)), ...othersOf(resource, list), query]
    return `[${quoted(all)}, ${found === undefined ? 'undefined' : `[${found.join(', ')}]`}]`
  }
  const asked = orderParameter === undefined || named?.required ? [] : ['']
  return [
    ...(orderParameter === undefined
      ? []
      : orders.map((each) => caseOf(`${orderParameter}=${each.name}`, each))),
    ...(usual === undefined || (asked.length === 0 && orderParameter !== undefined)
      ? []
      : [caseOf('', usual)]),
  ]
}

function filterCases(resource: Resource, rows: Rows, list: Operation): string[] {
  const always = requiredFilters(resource, rows, list)
  return (resource.list?.filters ?? []).flatMap((filter) => {
    const own = filtered(resource, rows, filter)
    if (own === undefined) return []
    const all = [own, ...always.filter((each) => each.filter !== filter)]
    const found = own.found.filter((i) => all.every((each) => each.found.includes(i)))
    const query = quoted([...all.map((each) => queryOf(list, each)), ...othersOf(resource, list)])
    return [`[${query}, [${found.join(', ')}]]`]
  })
}

function requiredFilters(resource: Resource, rows: Rows, { parameters }: Operation): Filtered[] {
  const isRequired = ({ parameter }: Filter) =>
    parameters.some(({ in: place, name, required }) => place === 'query' && name === parameter && required)
  return (resource.list?.filters ?? [])
    .filter(isRequired)
    .flatMap((each) => filtered(resource, rows, each) ?? [])
}

// Returns the required parameters that are no filters, with sample values.
function othersOf({ reader, list }: Resource, { parameters }: Operation): string[] {
  const filters = list?.filters.map(({ parameter }) => parameter) ?? []
  const known = ['limit', 'after', list?.orderParameter, ...filters]
  return parameters
    .filter((each) => each.in === 'query' && each.required && !known.includes(each.name))
    .map(({ name, schema }) => `${encodeURIComponent(name)}=${encoded(sampleOf(reader, schema))}`)
}

function queryOf({ parameters }: Operation, { filter: { parameter, field }, value, row }: Filtered): string {
  const name = encodeURIComponent(parameter)
  if (value === undefined)
    return `${name}=\${encodeURIComponent(String(all[${row}]?.${memberText(field.name).replace(/^\./, '')}))}`
  if (!Array.isArray(value)) return `${name}=${encoded(value)}`
  const { read, separator = ',' } = parameters.find((each) => each.name === parameter)?.form ?? {}
  if (read === 'repeated' || read === 'oneOrRepeated')
    return value.map((each) => `${name}=${encoded(each)}`).join('&')
  const between = separator === ',' ? separator : encodeURIComponent(separator)
  return `${name}=${value.map(encoded).join(between)}`
}

function encoded(value: unknown): string {
  return encodeURIComponent(String(value)).replaceAll("'", '%27')
}

// Quotes a query: in backquotes if one of its values is taken from a row.
function quoted(parts: readonly string[]): string {
  const query = parts.filter((each) => each !== '').join('&')
  return query.includes('$') ? `\`${query}\`` : `'${query}'`
}
