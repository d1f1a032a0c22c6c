// Finds out where the client runs.

/** Returns the origin of the page in browsers; undefined elsewhere. */
export function pageOrigin(): string | undefined {
  // The types of Node do not declare it.
  const { location } = globalThis as { readonly location?: { readonly origin?: string } }
  return location?.origin
}
