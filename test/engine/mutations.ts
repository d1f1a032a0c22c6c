// The engine refuses a document with an arbitrary value anywhere, naming its place, or reads it.
// `MUTATION_SEED=7 npx tap test/engine/mutations.ts` tries others, MUTATIONS=1000 more of them;
// every-mutation.ts tries all in a nightly run.

import { Random } from 'contract-testing/random-schemas'
import t from 'tap'
import { faultsOf, mutations } from './fixtures/mutations.js'

const seed = Number(process.env.MUTATION_SEED ?? 1)
const count = Number(process.env.MUTATIONS ?? 20)

t.test(
  `${count} documents with another value somewhere are refused at its place, or read (seed ${seed})`,
  async (t) => {
    const all = await mutations()
    const random = new Random(seed)
    const chosen = Array.from({ length: count }, () => random.pick(all))
    for (const mutation of chosen) t.strictSame(await faultsOf(mutation), [], mutation.name)
  },
)
