import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'

const tool = `import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { word } from './word.js'
const require = createRequire(import.meta.url)
const { parse } = require('yaml')
console.log(word, process.argv.slice(2).join(), parse('a: 1').a, readFileSync(new URL('beside.txt', import.meta.url), 'utf8'))
`

const word = `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url ?? __filename) // as of a package that others bundle, too
export const word = require('yaml').parse('hello')
`

// Creates a project with one tool, and the packages of this project.
function projectWithTool(t: Test): string {
  const folder = temporaryDirectory(t, {
    'package.json': '{ "type": "module" }',
    'tsconfig.json': '{}',
    service: {
      project: {},
      dist: {
        tools: {
          hello: { 'main.js': tool, 'word.js': word, 'beside.txt': 'there' },
        },
      },
    },
    node_modules: { '.package-lock.json': '{}' },
  })
  for (const file of ['run.mjs', 'digests.mjs', 'bundle-tool.mjs'])
    cpSync(
      path.join(projectRoot, 'packages/service/project', file),
      path.join(folder, 'service/project', file),
    )
  for (const name of [
    'yaml',
    'esbuild',
    '@esbuild',
    'contract-engine',
    'contract-service',
    'contract-client',
    'contract-diff',
  ])
    symlinkSync(path.join(projectRoot, 'node_modules', name), path.join(folder, 'node_modules', name))
  return folder
}

async function run(folder: string): Promise<string> {
  const args = [path.join(folder, 'service/project/run.mjs'), 'hello', 'a', 'b']
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: folder })
  return stdout + stderr
}

// Returns the inode of a file: it changes when the file is written again.
function made(folder: string, kind: 'cjs' | 'cache'): number {
  return statSync(path.join(folder, `dist/tools/hello.${kind}`)).ino
}

t.test('what the modules of a tool require is in its bundle', async (t) => {
  const folder = projectWithTool(t)
  await run(folder)
  t.notMatch(readFileSync(path.join(folder, 'dist/tools/hello.cjs'), 'utf8'), /require\w*\("yaml"\)/)
})

t.test('a tool is bundled once, and what is compiled of it is kept', async (t) => {
  const folder = projectWithTool(t)
  t.equal(await run(folder), 'hello a,b 1 there\n')
  const before = [made(folder, 'cjs'), made(folder, 'cache')]
  t.equal(await run(folder), 'hello a,b 1 there\n')
  t.strictSame([made(folder, 'cjs'), made(folder, 'cache')], before)
})

const edits: readonly [what: string, file: string, edit: (text: string) => string, output: string][] = [
  ['a source', 'service/dist/tools/hello/word.js', () => `export const word = 'bye'`, 'bye a,b 1 there\n'],
  [
    'a list of packages',
    'node_modules/.package-lock.json',
    () => '{ "packages": {} }',
    'hello a,b 1 there\n',
  ],
  ['a bundle', 'dist/tools/hello.cjs', (text) => text.replace('hello', 'jello'), 'hello a,b 1 there\n'],
  ['a bundle that is cut', 'dist/tools/hello.cjs', (text) => text.slice(0, 99), 'hello a,b 1 there\n'],
  ['a record', 'dist/tools/hello.json', (text) => text.slice(0, 99), 'hello a,b 1 there\n'],
]

for (const [what, file, edit, output] of edits)
  t.test(`with an edit of ${what} a tool is bundled again`, async (t) => {
    const folder = projectWithTool(t)
    await run(folder)
    const before = made(folder, 'cjs')
    writeFileSync(path.join(folder, file), edit(readFileSync(path.join(folder, file), 'utf8')))
    t.equal(await run(folder), output)
    t.not(made(folder, 'cjs'), before)
  })

t.test('where no list tells which packages are installed, a tool is bundled each time', async (t) => {
  const folder = projectWithTool(t)
  rmSync(path.join(folder, 'node_modules/.package-lock.json'))
  await run(folder)
  const before = made(folder, 'cjs')
  t.equal(await run(folder), 'hello a,b 1 there\n')
  t.not(made(folder, 'cjs'), before)
})

for (const [what, damage] of [
  ['was damaged', (bytes: Buffer) => bytes.fill(0, bytes.length - 99)],
  ['was cut', (bytes: Buffer) => bytes.subarray(0, 99)],
  ['is of another bundle', (bytes: Buffer) => bytes.fill('x', 0, 9)],
] as const)
  t.test(`what is kept of compiled code and ${what} is not used, and is made again`, async (t) => {
    const folder = projectWithTool(t)
    await run(folder)
    const cache = path.join(folder, 'dist/tools/hello.cache')
    const before = made(folder, 'cache')
    writeFileSync(cache, damage(readFileSync(cache)))
    t.equal(await run(folder), 'hello a,b 1 there\n')
    t.not(made(folder, 'cache'), before)
  })

t.test('without what was made before, a tool runs as the first time', async (t) => {
  const folder = projectWithTool(t)
  await run(folder)
  rmSync(path.join(folder, 'dist'), { recursive: true })
  t.equal(await run(folder), 'hello a,b 1 there\n')
  t.strictSame(readdirSync(path.join(folder, 'dist/tools')).sort(), [
    'hello.cache',
    'hello.cjs',
    'hello.json',
  ])
})

t.test('a tool that fails keeps nothing of what it compiled, and exits with its code', async (t) => {
  const folder = projectWithTool(t)
  mkdirSync(path.join(folder, 'service/dist/tools/fails'))
  writeFileSync(path.join(folder, 'service/dist/tools/fails/main.js'), 'process.exitCode = 3')
  const args = [path.join(folder, 'service/project/run.mjs'), 'fails']
  await t.rejects(promisify(execFile)(process.execPath, args, { cwd: folder }), { code: 3 })
  t.notOk(readdirSync(path.join(folder, 'dist/tools')).includes('fails.cache'))
})
