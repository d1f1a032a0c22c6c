import { readFileSync } from 'node:fs'
import path from 'node:path'
import { checkServerTypes } from 'contract-service/tools/dev/types' // as it is built, beside what it runs
import t, { type Test } from 'tap'
import { projectRoot } from '../../../src/lib/paths.js'
import { temporaryDirectory } from '../../fixtures/directory.js'

const compilerOptions = {
  noEmit: true,
  incremental: true,
  rootDir: '.',
  types: [],
  tsBuildInfoFile: 'dist/all',
}
const all = { compilerOptions, include: ['src', 'test'] }
const served = { extends: './tsconfig.json', include: ['src'] }

// Creates a project with a type error in the service and one in a test. Its compiler is this repository's,
// and writes a line into the file `runs` each time.
function projectOf(t: Test, settings: Readonly<Record<string, object>>): string {
  const compiler = path.join(projectRoot, 'node_modules/typescript/lib/tsc.js')
  return temporaryDirectory(t, {
    runs: '',
    src: { 'a.ts': "export const a: number = 'a'\n" },
    test: { 'b.ts': "export const b: number = 'b'\n" },
    ...Object.fromEntries(Object.entries(settings).map(([name, json]) => [name, JSON.stringify(json)])),
    node_modules: {
      typescript: {
        'package.json': '{}',
        lib: {
          'tsc.js': `require('node:fs').appendFileSync('runs', 'run\\n')\nrequire(${JSON.stringify(compiler)})\n`,
        },
      },
    },
  })
}

const runsOf = (project: string) => readFileSync(path.join(project, 'runs'), 'utf8').match(/run/g)?.length

const ofServer = [/^src\/a\.ts:1:14 error TS2322/]
const ofTests = [/^test\/b\.ts:1:14 error TS2322/]

for (const [title, settings, [first, then]] of [
  ['settings of its own is checked before the rest', { 'tsconfig.build.json': served }, [1, 2]],
  ['no settings of its own is checked once, with the rest', {}, [1, 1]],
] as const)
  t.test(`a service with ${title}`, async (t) => {
    const project = projectOf(t, { 'tsconfig.json': all, ...settings })
    const found = await checkServerTypes(project)
    t.match(found.errors, ofServer)
    t.equal(found.errors.length, 1)
    t.equal(runsOf(project), first)
    t.match(await found.all(), { server: ofServer, others: ofTests })
    t.equal(runsOf(project), then)
  })
