/** What a message says of its `Retry-After`, which many programs that show a message do not show. */
export function tryAgain(seconds: number | string): string {
  return `Try again in ${seconds} second${Number(seconds) === 1 ? '' : 's'}.`
}
