// What the client knows about where it runs.

/** The origin of the page, in browsers; undefined elsewhere. */
export function pageOrigin(): string | undefined {
  // Not declared in the types of Node.
  const { location } = globalThis as { readonly location?: { readonly origin?: string } }
  return location?.origin
}
