// Reads the team's list of checks, src/schemes.ts, for tools that examine a contract. It is read as text,
// because running it would load the service.

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { Check, Contract } from 'contract-engine'
import type { Expression, ObjectLiteralElementLike, ObjectLiteralExpression } from 'typescript'
import { requirePlan, type ServiceContract } from '../../src/auth/plans.js'
import { keyErrors } from '../../src/auth/unauthorized.js'
import { chooseChecks } from './choose-checks.js'

// Required, as in the engine's types.ts: for an import, Node would scan its nine megabytes for exports.
const require = createRequire(import.meta.url)
const ts: typeof import('typescript') = require('typescript')

/** The file of the list. */
export const schemesFile = 'src/schemes.ts'

/** The text of each check in a project's list, by the name of its scheme: `apiKeys()`. */
export type Listed = ReadonlyMap<string, string>

/** True if a check is for the service's own keys. */
export function isOfKeys(check: string): boolean {
  return check.startsWith('apiKeys(')
}

/** Reads a project's list. Undefined without the file, as while a document is being adopted. */
export async function readSchemes(root: string): Promise<Listed | undefined> {
  const text = await readFile(path.join(root, schemesFile), 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return text === undefined ? undefined : listedIn(text)
}

/** Returns the list for a contract that has none yet. */
export function defaultList(contract: Contract): Listed {
  return new Map([...chooseChecks(contract).checks].map(([name, check]) => [name, `${check}()`]))
}

/** Returns a list with a check for each scheme of a contract; each check has its own form. */
export function listEach({ securitySchemes }: Contract): Listed {
  return new Map([...securitySchemes.keys()].map((name) => [name, name]))
}

/** Returns the list in a module's text: the properties of the object that it exports as `schemes`. */
export function listedIn(text: string): Listed {
  const source = ts.createSourceFile(schemesFile, text, ts.ScriptTarget.Latest, true)
  const declarations = source.statements.flatMap((each) =>
    ts.isVariableStatement(each) ? each.declarationList.declarations : [],
  )
  const list = declarations.find(({ name }) => name.getText() === 'schemes')?.initializer
  const properties = list === undefined ? [] : objectOf(list).properties
  return new Map(properties.map((each) => [nameOf(each), checkOf(each)]))
}

// The object may be behind `satisfies` or `as const`.
function objectOf(list: Expression): ObjectLiteralExpression {
  if (ts.isObjectLiteralExpression(list)) return list
  if (ts.isSatisfiesExpression(list) || ts.isAsExpression(list)) return objectOf(list.expression)
  throw new Error(
    `${schemesFile}: generate reads its list as text: schemes must be an object, { name: check() }`,
  )
}

function nameOf({ name }: ObjectLiteralElementLike): string {
  if (name !== undefined && (ts.isIdentifier(name) || ts.isStringLiteralLike(name))) return name.text
  throw new Error(`${schemesFile}: generate reads its list as text: write the name of each scheme out`)
}

function checkOf(property: ObjectLiteralElementLike): string {
  return ts.isPropertyAssignment(property) ? property.initializer.getText() : property.getText()
}

// Callers of these checks have no plan.
const planless = /^(?:jwt|basic)\(/

// The service's own checks: if two entries have the same text, their checks have the same form. A team's own
// check, such as `tokens()` for both access and refresh tokens, may recognize its credentials by the scheme.
// Only startup shows if it does.
const known = /^(?:apiKeys|jwt)\(/

/**
 * Returns checks that let every credential pass, with the errors of the listed checks.
 * @throws {ContractError} if callers would have no plan, as at startup
 */
export function standIns(contract: ServiceContract, listed: Listed): Readonly<Record<string, Check>> {
  const { securitySchemes } = contract
  const unplanned = [...listed].filter(([, text]) => planless.test(text))
  for (const [scheme] of unplanned) requirePlan(contract, scheme)
  const forms = new Map([...listed.values()].map((text) => [text, () => true]))
  const formOf = (text: string) => (known.test(text) ? (forms.get(text) as () => boolean) : () => true)
  return Object.fromEntries(
    [...listed].map(([scheme, text]): [string, Check] => [
      scheme,
      {
        caller: () => ({ scopes: new Set() }),
        ...(!text.startsWith('basic(') && { recognizes: formOf(text) }),
        ...(isOfKeys(text) && { errors: keyErrors(securitySchemes.get(scheme)) }),
      },
    ]),
  )
}
