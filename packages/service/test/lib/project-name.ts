import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { projectRoot } from '../../src/lib/paths.js'
import { keyPrefixOf, metricName, nameOf, projectName } from '../../src/lib/project-name.js'

t.test('a project is named by its package', (t) => {
  const cases: [name: string | undefined, expected: string][] = [
    ['library-service', 'library'],
    ['@acme/toy-shop-service', 'toy-shop'],
    ['toy-shop', 'toy-shop'],
    ['service', 'service'],
    ['toy_shop.api', 'toy-shop-api'],
    ['2nd-hand', 's2nd-hand'],
    [undefined, 'service'],
  ]
  for (const [name, expected] of cases) t.equal(nameOf({ name }), expected)
  const manifest = JSON.parse(readFileSync(path.join(projectRoot, 'package.json'), 'utf8'))
  t.equal(projectName, nameOf(manifest))
  t.end()
})

t.test('metrics and keys have its name', (t) => {
  t.equal(metricName('ready'), `${projectName.replaceAll('-', '_')}_ready`)
  t.strictSame(['animal-store', 'toy-shop', 'library'].map(keyPrefixOf), ['ask_', 'tsk_', 'lik_'])
  t.end()
})
