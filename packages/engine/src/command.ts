// `npx contract-engine`. Each command is loaded only when it is called.

const usage = `Usage: contract-engine COMMAND …

  generate CONTRACT  writes the types of a contract
  compile CONTRACT   writes its plan, which a server loads
  mock CONTRACT      serves it, with made responses

contract-engine COMMAND --help says more.
`

process.exitCode = await run(process.argv.slice(2))

async function run(args: readonly string[]): Promise<number> {
  const [name, ...others] = args
  if (name === 'generate' || name === 'compile')
    return (await import('./generate/command.js')).runCommand(args, process)
  if (name === 'mock') return (await import('./mock/command.js')).runCommand(others, process)
  const isAsked = name === '--help' || name === '-h'
  process[isAsked ? 'stdout' : 'stderr'].write(usage)
  return isAsked ? 0 : 2
}
