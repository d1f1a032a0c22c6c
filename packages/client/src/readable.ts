// A substitute for ReadableStream.from, which few platforms have.

/**
 * Returns a stream of the chunks of an iterator. When the stream is cancelled, it calls the iterator's
 * `return`.
 * @param onCancel called before that, to end a pending read
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
