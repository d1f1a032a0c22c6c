// tap builds a class of its plugins when a run finds others in .taprc. The tests of that run still load what is left out, the compiler
// among it, and take four times as long: so a fresh install builds it before its first run.

const { execFileSync } = require('node:child_process')
const { readFileSync } = require('node:fs')
const path = require('node:path')

const leftOut = readFileSync(path.join(__dirname, '../.taprc'), 'utf8').match(/(?<=- "!)[^"]+/g) ?? []
const built = execFileSync('tap', ['versions'], { encoding: 'utf8' })
if (leftOut.some((plugin) => built.includes(`"${plugin}"`)))
  execFileSync('tap', ['build'], { stdio: ['ignore', 'ignore', 'inherit'] })
