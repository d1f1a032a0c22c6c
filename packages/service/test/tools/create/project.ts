// A project as its team gets it: npm installs the packed packages.

import { execFile } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { creating, filesOf } from '../../fixtures/created.js'
import { startProcess, temporaryDirectory } from '../../fixtures/process.js'
import { send } from '../../fixtures/service.js'

const run = promisify(execFile)

t.test('a new project passes its tests, serves, and gets a later fix by an update', async (t) => {
  const { folder, create } = creating(t)
  t.match(await create('--root', '.', 'v1/toys.yaml'), { code: 0 })
  const project = path.join(folder, 'toy-box')
  const { PATH = '', HOME = '' } = process.env
  const npm = (...args: string[]) => run('npm', args, { cwd: project, env: { PATH, HOME } })
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline']
  writeFileSync(path.join(project, 'test/createToy.ts'), ofTeam)
  t.notMatch((await npm(...install)).stderr, /EBADENGINE/, 'each package runs on this version of Node')
  t.match((await npm('test')).stdout, /# \{ total: \d+, pass: \d+ \}/)
  t.equal((await npm('run', '--silent', 'generate', '--', '--check')).stdout, '')
  t.match(await argumentsOfFuzz(t, project), / --header=Toy-Key: tbk_\w+ /)
  t.match(await comparedAfterAnEdit(project), {
    code: 1,
    stdout: /^breaking {2}GET \/toys\/\{id\} {2}path\.id: maximum/,
  })

  const serve = (root: string) => startProcess(t, { DATA_DIR: temporaryDirectory(t) }, { root })
  const notWritten = { status: 501, body: { code: 'not_implemented', status: 501 } }
  const service = await serve(await imageOf(t, project))
  const auth = { 'toy-key': String(/tbk_\w+/.exec(service.welcome)?.[0]) }
  t.match(await send(`${service.base}/toys`), notWritten)
  t.match(await send(`${service.base}/toys/1`), notWritten)
  t.match(await send(`${service.base}/toys`, 'POST'), { status: 401, body: { code: 'missing_api_key' } })
  t.match(await send(`${service.base}/toys`, 'POST', auth), notWritten)
  t.match(await service.stop(), { code: 0 })

  const handler = path.join(project, 'src/handlers/getToysById.ts')
  const written = (status: number) => `import type { Request, Response } from './handler.js'

export async function getToysById({ params }: Request<'getToysById'>): Promise<Response<'getToysById'>> {
  return { status: ${status}, body: { name: String(params.id) } }
}
`
  writeFileSync(handler, written(202))
  const types = await npm('run', 'types').catch((error: { stdout: string }) => error)
  t.match(types.stdout, /src\/handlers\/getToysById\.ts\(4,\d+\): error TS2322/)
  writeFileSync(handler, written(200))
  const sources = textsOf(project)

  await npm(...install, `./${await packedAnew(t, project)}`)
  await npm('run', 'build')
  const updated = await serve(project)
  t.match(await send(`${updated.base}/toys/7`), { status: 200, body: { name: '7' } })
  t.match(await updated.stop(), { code: 0 })
  t.ok(await updated.logged('stopped, and mended'))
  t.strictSame(textsOf(project), sources, 'no source has changed')
})

// Returns the arguments that Schemathesis is started with.
async function argumentsOfFuzz(t: Test, project: string): Promise<string> {
  const programs = temporaryDirectory(t, { schemathesis: '#!/bin/sh\necho "$@"\n' })
  chmodSync(path.join(programs, 'schemathesis'), 0o755)
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH: `${programs}${path.delimiter}${PATH}`, HOME }
  return (await run('npm', ['run', '--silent', 'fuzz'], { cwd: project, env })).stdout
}

// Returns the output of `npm run contract:diff -- HEAD` after an edit, and undoes the edit.
async function comparedAfterAnEdit(
  project: string,
): Promise<{ readonly code?: number; readonly stdout: string }> {
  const { PATH = '', HOME = '' } = process.env
  const options = { cwd: project, env: { PATH, HOME, GIT_CONFIG_GLOBAL: '/dev/null' } }
  const git = (...args: string[]) => run('git', args, options)
  const file = path.join(project, 'openapi.yaml')
  const text = readFileSync(file, 'utf8')
  try {
    await git('init', '--quiet')
    await git('add', '.')
    await git('-c', 'user.name=a', '-c', 'user.email=a@a.example', 'commit', '--quiet', '--message=first')
    writeFileSync(file, text.replace('required: true, schema: { type: integer', '$&, maximum: 9'))
    return await run('npm', ['run', '--silent', 'contract:diff', '--', 'HEAD'], options).catch(
      (error) => error,
    )
  } finally {
    writeFileSync(file, text)
    rmSync(path.join(project, '.git'), { recursive: true })
  }
}

// A test that the team writes, for an operation that requires a key.
const ofTeam = `import { startService } from 'contract-service/testing'
import t from 'tap'

t.test('a toy is made', async (t) => {
  const { call } = await startService(t)
  t.equal((await call('POST', '/toys', { body: {} })).status, 501)
})
`

function textsOf(project: string): Record<string, string> {
  const sources = filesOf(project).filter((file) => !/^package(-lock)?\.json$/.test(file))
  return Object.fromEntries(sources.map((file) => [file, readFileSync(path.join(project, file), 'utf8')]))
}

// Packs the next version of contract-service, with another text in its log. Returns the tarball's path from
// the project.
async function packedAnew(t: Test, project: string): Promise<string> {
  const folder = temporaryDirectory(t)
  await run('tar', ['-xzf', path.join(project, 'packages/contract-service-1.0.0.tgz'), '-C', folder])
  const edit = (file: string, from: string, to: string) => {
    const place = path.join(folder, 'package', file)
    writeFileSync(place, readFileSync(place, 'utf8').replace(from, to))
  }
  edit('package.json', '"version": "1.0.0"', '"version": "1.0.1"')
  edit('dist/src/process/start.js', "log.info('stopped')", "log.info('stopped, and mended')")
  const args = [
    'pack',
    path.join(folder, 'package'),
    '--pack-destination',
    'packages',
    '--silent',
    '--ignore-scripts',
  ]
  const { stdout } = await run('npm', args, { cwd: project })
  return `packages/${stdout.trim()}`
}

// Copies the files of the image, as the last stage of the Dockerfile copies them from the build stage. There,
// the contract is in one file.
async function imageOf(t: Test, project: string): Promise<string> {
  const compile = 'node_modules/contract-service/dist/src/commands/compile.js'
  await run(process.execPath, [compile, 'generated/openapi.yaml'], { cwd: project })
  const image = temporaryDirectory(t)
  const [, , , stage = ''] = readFileSync(path.join(project, 'Dockerfile'), 'utf8').split(/^FROM /m)
  for (const [, , words = ''] of stage.matchAll(/^COPY (--from=\S+ )?(.+)$/gm)) {
    const [source = '', target = ''] = words.replace('/app/', '').split(' ')
    const place = path.join(image, target.endsWith('/') ? path.join(target, path.basename(source)) : target)
    mkdirSync(path.dirname(place), { recursive: true })
    if (source === 'node_modules') symlinkSync(path.join(project, source), place)
    else cpSync(path.join(project, source), place, { recursive: true })
  }
  return image
}
