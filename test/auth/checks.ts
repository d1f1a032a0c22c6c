import { type CheckFactory, type CheckParts, createChecks } from 'contract-service/internal/auth/checks'
import { OperatorError } from 'contract-service/internal/lib/operator-error'
import t from 'tap'

const check = { caller: () => undefined }

function create(schemes: Readonly<Record<string, CheckFactory>>, isNeeded = true) {
  const logged: object[] = []
  const log = { warn: (line: object) => logged.push(line) }
  const parts = { log } as unknown as CheckParts // the factories of these tests use nothing else
  return { checks: createChecks(schemes, parts, () => isNeeded), logged }
}

const unset: CheckFactory = ({ scheme }) => {
  throw new OperatorError(`${scheme} needs a setting`)
}

t.test('each check is made for its scheme', async (t) => {
  const made: string[] = []
  const make: CheckFactory = ({ scheme }) => {
    made.push(scheme)
    return check
  }
  const { checks, logged } = create({ key: make, token: make })
  t.strictSame(checks, { key: check, token: check })
  t.strictSame([made, logged], [['key', 'token'], []])
})

t.test('a check without its setting stops the startup if an operation with a handler needs it', async (t) => {
  t.throws(() => create({ token: unset }), { name: 'OperatorError', message: 'token needs a setting' })
})

t.test('otherwise it is left out, with a warning', async (t) => {
  const { checks, logged } = create({ token: unset, key: () => check }, false)
  t.strictSame(checks, { key: check })
  t.strictSame(logged, [{ scheme: 'token', reason: 'token needs a setting' }])
})

t.test('a fault of a check is never passed over', async (t) => {
  const broken: CheckFactory = () => {
    throw new TypeError('broken')
  }
  t.throws(() => create({ token: broken }, false), { message: 'broken' })
})
