// The build that `npm run bench -- --against` makes of a commit, in a small repository.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from 'contract-testing/directory'
import t, { type Test } from 'tap'
import { withCommit } from '../../../scripts/bench/commit.js'

const never = new AbortController().signal
const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.com']

function repositoryIn(t: Test, build: string) {
  const own = { name: 'a', version: '1.0.0' }
  const folder = temporaryDirectory(t, {
    'package.json': JSON.stringify({ ...own, scripts: { 'build:server': build } }),
    'package-lock.json': JSON.stringify({ ...own, lockfileVersion: 3, packages: { '': own } }),
    text: 'before',
  })
  const git = (...args: string[]) =>
    execFileSync('git', [...author, ...args], { cwd: folder, encoding: 'utf8' })
  git('init', '--quiet')
  git('add', '.')
  git('commit', '--quiet', '--message', 'One')
  return { folder, worktrees: () => git('worktree', 'list').trim().split('\n').length }
}

t.test('a commit is checked out and built, and gone afterwards', async (t) => {
  const { folder, worktrees } = repositoryIn(t, 'cp text built')
  writeFileSync(path.join(folder, 'text'), 'after, and not committed')
  const root = await withCommit(folder, 'HEAD', never, async (root) => {
    t.equal(readFileSync(path.join(root, 'built'), 'utf8'), 'before')
    t.equal(worktrees(), 2)
    return root
  })
  t.notOk(existsSync(root))
  t.equal(worktrees(), 1)
})

t.test('what is no commit, or does not build, is told, and leaves nothing', async (t) => {
  const { folder, worktrees } = repositoryIn(t, 'node -e "throw new Error(String(6 * 7))"')
  const work = async () => t.fail('has no build')
  await t.rejects(withCommit(folder, 'nowhere', never, work), { name: 'OperatorError', message: /nowhere/ })
  await t.rejects(withCommit(folder, 'HEAD', never, work), { name: 'OperatorError', message: /Error: 42/ })
  t.equal(worktrees(), 1)
})

t.test('an interruption ends the build, and leaves nothing', async (t) => {
  const { folder, worktrees } = repositoryIn(t, 'true')
  const controller = new AbortController()
  const interrupted = withCommit(folder, 'HEAD', controller.signal, async () => {
    controller.abort()
    controller.signal.throwIfAborted()
  })
  await t.rejects(interrupted, { name: 'AbortError' })
  t.equal(worktrees(), 1)
})
