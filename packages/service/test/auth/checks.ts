import t from 'tap'
import {
  type AnyCheckFactory,
  type CheckFactory,
  type CheckParts,
  createChecks,
} from '../../src/auth/checks.js'
import { OperatorError } from '../../src/lib/operator-error.js'

const check = { caller: () => undefined }

async function create(schemes: Readonly<Record<string, AnyCheckFactory>>, isNeeded = true) {
  const logged: object[] = []
  const log = { warn: (line: object) => logged.push(line) }
  const parts = { log } as unknown as CheckParts // these factories read no other part
  return { checks: await createChecks(schemes, parts, () => isNeeded), logged }
}

const unset: CheckFactory = ({ scheme }) => {
  throw new OperatorError(`${scheme} needs a setting`)
}

const late: AnyCheckFactory = async (parts) => unset(parts)

t.test('each check is made for its scheme', async (t) => {
  const made: string[] = []
  const make: CheckFactory = ({ scheme }) => {
    made.push(scheme)
    return check
  }
  const { checks, logged } = await create({ key: make, token: async (parts) => make(parts) })
  t.strictSame(checks, { key: check, token: check })
  t.strictSame([made, logged], [['key', 'token'], []])
})

t.test('a check without its setting stops the startup if an operation with a handler needs it', async (t) => {
  for (const token of [unset, late])
    await t.rejects(create({ token }), { name: 'OperatorError', message: 'token needs a setting' })
})

t.test('otherwise it is left out, with a warning', async (t) => {
  for (const token of [unset, late]) {
    const { checks, logged } = await create({ token, key: () => check }, false)
    t.strictSame(checks, { key: check })
    t.strictSame(logged, [{ scheme: 'token', reason: 'token needs a setting' }])
  }
})

t.test('a fault of a check is never passed over', async (t) => {
  const broken: CheckFactory = () => {
    throw new TypeError('broken')
  }
  await t.rejects(create({ token: broken }, false), { message: 'broken' })
})
