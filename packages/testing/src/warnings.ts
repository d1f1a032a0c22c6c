// Warnings of Node, none of which a run of the tests prints.

/** The stacks of the warnings of this process from now on, with those that `repeatWarnings` makes its own. */
export function collectWarnings(): readonly (string | undefined)[] {
  const warnings: (string | undefined)[] = []
  process.on('warning', ({ name, stack }) => {
    if (name !== expected) warnings.push(stack)
  })
  return warnings
}

// Node says of what tests use that it may change, such as `mock.timers` of Node 20.
const expected = 'ExperimentalWarning'

/** Makes the warnings of Node that a process of the tests has printed those of this one. */
export function repeatWarnings(stderr: string): void {
  const printed = stderr.matchAll(/^\(node:\d+\) (?:\[\w+\] )?(\w*Warning): (.*)$/gm)
  for (const [, name, text = ''] of printed) if (name !== expected) process.emitWarning(text, name)
}
