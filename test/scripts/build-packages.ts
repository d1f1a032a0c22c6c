import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'

// A project with one package of one file, and this project's compiler.
function startProject(t: Test) {
  const tsconfig = {
    composite: true,
    rootDir: '.',
    outDir: 'dist',
    tsBuildInfoFile: 'dist/.tsbuildinfo',
    types: [],
  }
  const folder = temporaryDirectory(t, {
    'package.json': '{ "engines": { "node": ">=20.19.0" } }',
    packages: {
      client: {
        'package.json': '{}',
        'tsconfig.json': JSON.stringify({ compilerOptions: tsconfig, include: ['src'] }),
        'tsconfig.generator.json': '{ "files": [], "references": [{ "path": "." }] }',
        'tsconfig.tests.json': '{ "files": [], "references": [{ "path": "." }] }',
        'build.cjs': `
          process.exitCode = require('../../scripts/build-packages.cjs').compilePackage(__dirname)
          if (process.argv.includes('--cjs')) {
            require('node:fs').mkdirSync(__dirname + '/dist/cjs', { recursive: true })
            require('node:fs').writeFileSync(__dirname + '/dist/cjs/one.js', '')
          }
        `,
        src: { 'one.ts': 'export const one = 1\n' },
      },
    },
    'later.ts': 'export const later = 1\n',
  })
  for (const file of ['scripts/build-packages.cjs', 'scripts/check-setup.cjs', 'packages/service/project'])
    cpSync(path.join(projectRoot, file), path.join(folder, file), { recursive: true })
  symlinkSync(path.join(projectRoot, 'node_modules'), path.join(folder, 'node_modules'))
  const place = (file: string) => path.join(folder, file)
  const build = (...options: string[]) =>
    promisify(execFile)(process.execPath, [place('scripts/build-packages.cjs'), ...options]).then(
      () => ({ code: 0, stdout: '' }),
      (error) => error,
    )
  return { place, build }
}

t.test('npm builds a package after those that it depends on', async (t) => {
  const args = ['pkg', 'get', 'dependencies', '--workspaces']
  const { stdout } = await promisify(execFile)('npm', args, { cwd: projectRoot })
  const packages = Object.entries(JSON.parse(stdout) as Readonly<Record<string, object>>)
  const names = packages.map(([name]) => name)
  t.ok(names.includes('contract-diff'))
  for (const [i, [name, dependencies]] of packages.entries()) {
    const later = names.slice(i).filter((each) => each in dependencies)
    t.strictSame(later, [], name)
  }
})

t.test('packages are compiled again when a file has changed or is moved there, and only then', async (t) => {
  const { place, build } = startProject(t)
  const timeOf = (file: string) => statSync(place(`packages/client/dist/${file}`)).mtimeMs
  t.match(await build(), { code: 0 })
  const first = timeOf('.tsbuildinfo')
  t.match(await build(), { code: 0 })
  t.equal(timeOf('.tsbuildinfo'), first)

  const old = new Date('2020-01-01')
  utimesSync(place('later.ts'), old, old)
  renameSync(place('later.ts'), place('packages/client/src/later.ts'))
  t.match(await build(), { code: 0 })
  t.ok(existsSync(place('packages/client/dist/src/later.js')))

  writeFileSync(place('packages/client/src/one.ts'), 'export const one: string = 1\n')
  for (const _ of ['at once', 'and again']) t.match(await build(), { code: 2, stdout: /one\.ts\(1,14\)/ })
  writeFileSync(place('packages/client/src/one.ts'), "export const one: string = ''\n")
  t.match(await build(), { code: 0 })
  mkdirSync(place('packages/client/src/folder'))
  t.match(await build(), { code: 0 })
})

// Two test runs may begin at once: one must not rewrite, while the other's compiler runs, what is already
// built.
t.test('whatever the options, what is built already is not written', async (t) => {
  const { place, build } = startProject(t)
  const timesOf = () =>
    ['.tsbuildinfo', 'src/one.js', 'cjs/one.js'].map(
      (file) => statSync(place(`packages/client/dist/${file}`), { throwIfNoEntry: false })?.mtimeMs,
    )
  t.match(await build('--tests'), { code: 0 })
  t.match(await build('--tests', '--cjs'), { code: 0 })
  const times = timesOf()
  t.ok(times.every(Number.isFinite))
  for (const options of [['--tests', '--cjs'], ['--tests'], []]) {
    t.match(await build(...options), { code: 0 })
    t.strictSame(timesOf(), times, options.join(' '))
  }
})
