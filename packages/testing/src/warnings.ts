// Collects Node's warnings: a run of the tests must print none.

/**
 * Collects the stacks of this process's warnings from now on, including those that `repeatWarnings` emits.
 */
export function collectWarnings(): readonly (string | undefined)[] {
  const warnings: (string | undefined)[] = []
  process.on('warning', ({ name, stack }) => {
    if (name !== expected) warnings.push(stack)
  })
  return warnings
}

// Node warns that some features in the tests may change, such as `mock.timers` of Node 20.
const expected = 'ExperimentalWarning'

/** Emits the warnings of Node that another process has printed as warnings of this process. */
export function repeatWarnings(stderr: string): void {
  const printed = stderr.matchAll(/^\(node:\d+\) (?:\[\w+\] )?(\w*Warning): (.*)$/gm)
  for (const [, name, text = ''] of printed) if (name !== expected) process.emitWarning(text, name)
}
