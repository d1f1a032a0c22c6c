// Finds the pages of a subject. Clients follow links, but that takes too long to the middle of a table: the
// bench makes the paths itself, with the id after which a page begins. A service of another contract, for
// instance with cursors, cannot be addressed that way: the bench follows its links once, in the largest
// steps, and keeps them.

import { OperatorError } from 'contract-service/internal/lib/operator-error'

/** Returns the path of the page of 20 after an id, of all animals or of one status. */
export type PageAfter = (id: number, status: string | undefined) => string

export const statuses: readonly string[] = ['available', 'pending', 'sold']
const pageSizeMax = 100

/** Puts the id itself into the path, as in this contract and in the baselines. */
export const byId: PageAfter = (id, status) =>
  `/v1/pets?${new URLSearchParams({ ...(status && { status }), after: String(id) })}`

/**
 * Finds out how a subject addresses its pages.
 * @throws {OperatorError} if it does not respond with pages
 */
export async function pagesOf(
  { port, title }: { readonly port: number; readonly title: string },
  key: string,
  interruption: AbortSignal,
): Promise<PageAfter> {
  const origin = `http://127.0.0.1:${port}`
  const ask = async (path: string): Promise<Page> => {
    interruption.throwIfAborted()
    const response = await fetch(origin + path, { headers: { authorization: `Bearer ${key}` } })
    if (!response.ok) throw new OperatorError(`${title}: ${response.status} for ${path}`)
    const body: unknown = await response.json()
    const animals: readonly { readonly id: number }[] = Array.isArray(body) ? body : []
    const next = /<([^<>]+)>; *rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
    return {
      lastId: animals.at(-1)?.id ?? 0,
      next: next === undefined ? undefined : new URL(next, origin + path),
    }
  }
  const { next } = await ask('/v1/pets?limit=1')
  if (next === undefined || next.searchParams.has('after')) return byId
  const walks = [undefined, ...statuses].map(async (status) => [status, await walk(ask, status)] as const)
  const links = new Map(await Promise.all(walks))
  return (id, status) => pathBehind(links.get(status) ?? [], id)
}

interface Page {
  readonly lastId: number
  readonly next: URL | undefined
}

interface Link {
  readonly id: number
  readonly path: string
}

// Returns each link of a list, with the id after which its page begins.
async function walk(ask: (path: string) => Promise<Page>, status: string | undefined): Promise<Link[]> {
  const query = new URLSearchParams({ limit: String(pageSizeMax), ...(status && { status }) })
  const links: Link[] = []
  let { lastId, next } = await ask(`/v1/pets?${query}`)
  while (next !== undefined) {
    const path = next.pathname + next.search
    next.searchParams.delete('limit')
    links.push({ id: lastId, path: next.pathname + next.search })
    ;({ lastId, next } = await ask(path))
  }
  return links
}

// Returns the path of the last page that begins at or before the id; otherwise of the first page.
function pathBehind(links: readonly Link[], id: number): string {
  let [from, to] = [0, links.length]
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2)
    if ((links[middle]?.id ?? 0) <= id) from = middle
    else to = middle
  }
  const link = links[from]
  if (link === undefined) throw new OperatorError('the list has no further page')
  return link.path
}
