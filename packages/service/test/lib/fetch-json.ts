// Which certificates a process trusts. Other refusals of a fetch are tested with the issuer.

import t from 'tap'
import { authorityFile, startOidcProvider } from '../fixtures/oidc-provider.js'
import { runProgram } from '../fixtures/process.js'
import { fixtureProgram } from '../fixtures/root.js'

t.test('a certificate authority in NODE_EXTRA_CA_CERTS is trusted, and no other', async (t) => {
  const { url } = await startOidcProvider(t)
  const run = async (env: Record<string, string>) =>
    (await runProgram(fixtureProgram('fetch-program'), [url], env)).stdout.trim()
  t.equal(await run({ NODE_EXTRA_CA_CERTS: authorityFile }), url)
  t.match(
    await run({}),
    `GET ${url}/.well-known/openid-configuration: unable to verify the first certificate`,
  )
})
