// Progress of a long command: a bar on a terminal, a line per 10 % elsewhere.

/** A terminal, file or pipe. */
export type ProgressStream = Pick<NodeJS.WriteStream, 'write'> & { readonly isTTY?: boolean }

export interface Progress {
  /** Shows that `done` of the total are done. */
  show(done: number): void
  /** Erases the bar. */
  end(): void
}

const barWidth = 30
const redrawMs = 100

export function createProgress(total: number, stream: ProgressStream): Progress {
  const startedAt = performance.now()
  const percent = (done: number) => Math.floor((done / total) * 100)
  const line = (done: number) => {
    const seconds = (performance.now() - startedAt) / 1000
    const rate = seconds > 0 ? `, ${Math.round(done / seconds).toLocaleString('en')} a second` : ''
    return `${percent(done)} %  ${done.toLocaleString('en')} animals${rate}`
  }
  return stream.isTTY ? bar(stream, percent, line) : lines(stream, percent, line)
}

type Percent = (done: number) => number
type Line = (done: number) => string

function bar(stream: ProgressStream, percent: Percent, line: Line): Progress {
  let drawnAt = Number.NEGATIVE_INFINITY
  return {
    show(done) {
      const isLast = percent(done) === 100
      const now = performance.now()
      if (!isLast && now - drawnAt < redrawMs) return
      drawnAt = now
      const filled = Math.floor((percent(done) / 100) * barWidth)
      stream.write(`\r\x1b[K${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)}  ${line(done)}`)
    },
    end: () => void stream.write('\r\x1b[K'),
  }
}

function lines(stream: ProgressStream, percent: Percent, line: Line): Progress {
  let tenth = 0
  return {
    show(done) {
      const reached = Math.floor(percent(done) / 10)
      if (reached === tenth) return
      tenth = reached
      stream.write(`${line(done)}\n`)
    },
    end() {},
  }
}
