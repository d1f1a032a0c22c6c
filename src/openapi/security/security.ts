// Who sent a request: judged once, before its body is read, by whatever asks first, and remembered.

import type { FastifyRequest } from 'fastify'
import type { Contract, Operation } from '../contract/contract.js'
import type { RequestError } from '../errors.js'
import type { AnyCheck, Caller, CheckList } from './check.js'
import { planOf } from './create-plan.js'
import { malformed } from './credentials.js'
import { judge, type Verdict } from './judge.js'
import type { Plan } from './plan.js'
import { invalidCredential, invalidCredentials } from './refusals.js'

/** What an application knows of who sent a request: kept on it under a symbol, like all of the engine's. */
export const judged: unique symbol = Symbol('openapi.judged')

declare module 'fastify' {
  interface FastifyRequest {
    [judged]?: { readonly plan: object; readonly verdict: Verdict }
  }
}

/** The security of a contract: the judgement of its requests by the checks of an application. */
export class Security<C extends Caller = Caller> {
  readonly #plans = new Map<Operation | undefined, Plan<C>>()
  readonly #contract: Contract
  readonly checks: ReadonlyMap<string, AnyCheck<C>>

  constructor(contract: Contract, checks: CheckList<C>) {
    this.#contract = contract
    this.checks = new Map(Object.entries(checks))
  }

  /**
   * The verdict on a request, by the requirements of an operation. Without an operation, or with one that
   * requires nothing, every scheme is tried. It is remembered on the request.
   */
  authenticate(request: FastifyRequest, operation?: Operation): Verdict<C> | Promise<Verdict<C>> {
    const plan = this.#planOf(operation)
    const known = request[judged]
    if (known?.plan === plan) return known.verdict as Verdict<C>
    const verdict = judge(plan, request)
    const remember = (settled: Verdict<C>) => {
      request[judged] = { plan, verdict: settled }
      return settled
    }
    return verdict instanceof Promise ? verdict.then(remember) : remember(verdict)
  }

  /** The caller as last known, without a look-up, for what needs no valid credential. */
  recall(request: FastifyRequest, operation?: Operation): C | undefined {
    for (const { read, check } of this.#planOf(operation).steps) {
      const credential = read(request)
      if (credential === undefined || credential === malformed) continue
      const caller = check.recall?.(credential)
      if (caller !== undefined) return caller
    }
    return undefined
  }

  /** Every 401 and 403 that an operation can get without a caller, or with one who lacks a scope. */
  refusalsOf(operation: Operation): readonly RequestError[] {
    const plan = this.#planOf(operation)
    const invalid = plan.steps.map((step) => {
      const error = invalidCredential(step)
      return invalidCredentials(plan, error, (each) => (each === step ? error : undefined))
    })
    const demanding = plan.alternatives.filter(({ needs }) => needs.some(({ scopes }) => scopes.length > 0))
    return [plan.missing, ...invalid, ...demanding.map(({ insufficient }) => insufficient)]
  }

  #planOf(operation: Operation | undefined): Plan<C> {
    const known = this.#plans.get(operation)
    if (known !== undefined) return known
    const plan = planOf(this.#requirementsOf(operation), this.#contract, this.checks)
    this.#plans.set(operation, plan)
    return plan
  }

  #requirementsOf(operation: Operation | undefined): Operation['security'] {
    if (operation !== undefined && operation.security.length > 0) return operation.security
    const any = [...this.checks.keys()].map((name) => [{ name, scopes: [] }])
    return operation === undefined ? any : [...any, []]
  }
}

/** Creates the security of a contract. */
export function createSecurity<C extends Caller>(contract: Contract, checks: CheckList<C>): Security<C> {
  return new Security(contract, checks)
}

/** The verdict on a request that has been judged. */
export function verdictOf(request: FastifyRequest): Verdict | undefined {
  return request[judged]?.verdict
}
