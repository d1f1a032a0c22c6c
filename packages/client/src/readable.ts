// A stream of the platform from chunks: ReadableStream.from, which few platforms have.

/**
 * A stream of the chunks of an iterator, which is told to return when the stream is cancelled.
 * @param onCancel called before that, to end a read that waits
 */
export function readableOf(
  chunks: AsyncIterator<Uint8Array>,
  onCancel: (reason: unknown) => void = () => {},
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel(reason) {
      onCancel(reason)
      await chunks.return?.()
    },
  })
}
