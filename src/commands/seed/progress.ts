// The progress of a long command: a bar on a terminal, a line for each tenth elsewhere.

/** A terminal, file or pipe. */
export type ProgressStream = Pick<NodeJS.WriteStream, 'write'> & { readonly isTTY?: boolean }

const barWidth = 30

export class Progress {
  readonly #startedAt = performance.now()
  #tenth = 0

  constructor(
    readonly total: number,
    readonly stream: ProgressStream,
  ) {}

  /** Shows that `done` animals of the total are added. */
  show(done: number): void {
    const percent = Math.floor((done / this.total) * 100)
    const tenth = Math.floor(percent / 10)
    const rate = Math.round((done * 1000) / (performance.now() - this.#startedAt))
    const line = `${percent} %  ${format(done)} animals, ${format(rate)} a second`
    if (this.stream.isTTY) this.stream.write(`\r\x1b[K${bar(percent)}  ${line}`)
    else if (tenth > this.#tenth) this.stream.write(`${line}\n`)
    this.#tenth = tenth
  }

  /** Erases the bar. */
  end(): void {
    if (this.stream.isTTY) this.stream.write('\r\x1b[K')
  }
}

function bar(percent: number): string {
  const filled = Math.floor((percent / 100) * barWidth)
  return '█'.repeat(filled) + '░'.repeat(barWidth - filled)
}

function format(number: number): string {
  return number.toLocaleString('en')
}
