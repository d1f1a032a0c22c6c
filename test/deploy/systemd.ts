// The units of deploy/systemd/, as the commands of docs/deploying.md install them: below a root of the test's,
// where systemd itself judges them.

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'
import { blockOf } from '../fixtures/pages.js'
import { missing } from '../fixtures/programs.js'

const install = blockOf('docs/deploying.md', 'install -d')
const replace = blockOf('docs/deploying.md', 'install -m 644')

const units = '/usr/lib/systemd/system'
const skip =
  missing('systemd-analyze', 'systemd') || (!existsSync(units) && 'systemd has its units elsewhere')

// systemctl that enables below the root, and tells what else it would do.
const systemctl = `#!/bin/sh
if [ "$1" = enable ]; then
  shift; [ "$1" != --now ] || { shift; echo start "$@"; }
  exec /usr/bin/env "PATH=$REAL" systemctl --quiet --root="$ROOT" enable "$@"
fi
echo "$@"
[ "$*" != "restart $FAILS" ]
`

// A machine with systemd's own units, and the programs that ours run.
function makeRoot(t: Test): string {
  const root = temporaryDirectory(t)
  mkdirSync(path.join(root, 'etc/systemd/system'), { recursive: true })
  mkdirSync(path.join(root, 'opt/animal-store'), { recursive: true })
  cpSync(units, path.join(root, units), { recursive: true, verbatimSymlinks: true })
  const programs = [...ourUnits().matchAll(/\/(?:usr\/)?bin\/\w+/g)].map(([program]) => program)
  for (const program of new Set(programs)) {
    mkdirSync(path.join(root, path.dirname(program)), { recursive: true })
    writeFileSync(path.join(root, program), '#!/bin/sh\n', { mode: 0o755 })
  }
  return root
}

// Returns the text of all our units.
function ourUnits(): string {
  const folder = path.join(projectRoot, 'deploy/systemd')
  const names = readdirSync(folder).filter((name) => !name.endsWith('.env'))
  return names.map((name) => readFileSync(path.join(folder, name), 'utf8')).join('\n')
}

// Runs a block as on the machine that the root is.
function paste(t: Test, root: string, block: string, FAILS = '') {
  const folder = temporaryDirectory(t)
  writeFileSync(path.join(folder, 'systemctl'), systemctl, { mode: 0o755 })
  const env = { PATH: `${folder}:${process.env.PATH}`, REAL: process.env.PATH, ROOT: root, FAILS }
  const script = block.replaceAll(' /etc/', ` ${root}/etc/`)
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-uc', script], {
    cwd: projectRoot,
    env,
    encoding: 'utf8',
  })
  t.equal(stderr, '')
  return { status, told: stdout.trim().split('\n') }
}

t.test('the units that the commands install are valid, and four instances enabled', { skip }, async (t) => {
  const root = makeRoot(t)
  t.match(paste(t, root, install), { status: 0, told: ['daemon-reload', 'start animal-store.target'] })
  const enabled = readdirSync(path.join(root, 'etc/systemd/system/animal-store.target.wants')).sort()
  t.strictSame(
    enabled,
    [1, 2, 3, 4].map((port) => `animal-store@300${port}.service`),
  )
  t.ok(existsSync(path.join(root, 'etc/systemd/system/multi-user.target.wants')), 'the target starts at boot')
  const settings = path.join(root, 'etc/animal-store')
  t.equal(statSync(settings).mode & 0o777, 0o700)
  const needed = [...ourUnits().matchAll(/^EnvironmentFile=\/etc\/animal-store\/(\S+)$/gm)]
  t.strictSame(readdirSync(settings).sort(), needed.map(([, name]) => name).sort())
  for (const name of readdirSync(settings)) t.equal(statSync(path.join(settings, name)).mode & 0o777, 0o600)
  const names = ['animal-store.target', 'animal-store-migrations.service', ...enabled]
  t.equal(execFileSync('systemd-analyze', ['verify', `--root=${root}`, ...names], { encoding: 'utf8' }), '')
})

t.test(
  'the commands for a new version migrate, and then replace one after the other',
  { skip },
  async (t) => {
    const root = makeRoot(t)
    const restarts = ['-migrations', '@3001', '@3002', '@3003', '@3004'].map(
      (name) => `restart animal-store${name}`,
    )
    const { told } = paste(t, root, replace)
    t.strictSame(told, ['daemon-reload', ...restarts])
    t.strictSame(paste(t, root, replace, 'animal-store@3002').told, told.slice(0, 4), 'until one fails')
    t.strictSame(paste(t, root, replace, 'animal-store-migrations').told, told.slice(0, 2))
  },
)
