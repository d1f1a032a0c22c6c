// Sees statements begin and end. postgres.js tells nobody of either, and its queries are lazy: one that is never awaited, as
// a part of another, is never sent, so awaiting each to time it would send what nobody meant to.

/** Called as a statement is sent; what it returns, when its rows are there or never will be. */
export type StatementBegins = () => () => void

// What postgres.js calls to send a query.
interface Lazy extends Promise<unknown> {
  handler: (query: Lazy) => unknown
}

/** The same handle, whose statements are told of. Of transactions, only that they begin is. */
export function watchStatements<Sql extends object>(sql: Sql, begins: StatementBegins): Sql {
  return new Proxy(sql, {
    apply(target, self, args) {
      const query: unknown = Reflect.apply(target as never, self, args)
      if (isLazy(query)) watch(query, begins)
      return query
    },
  })
}

// Helpers, such as a list of columns, are made by the same tag.
function isLazy(query: unknown): query is Lazy {
  return query instanceof Promise && 'handler' in query
}

function watch(query: Lazy, begins: StatementBegins): void {
  const { handler } = query
  query.handler = (sent) => {
    const ends = begins()
    // It is on its way already: this does not send it once more.
    query.then(ends, ends)
    return handler(sent)
  }
}
